# Made by envkit: switches to the CUDA toolkit of this environment. Rules and reasons: docs/activation.md in the sources
# of envkit. For tcsh: starts no program (but one to write to stderr when the toolkit has gone), writes nothing to
# stdout, ends with status 0, leaves nothing behind.

# Undo (docs/activation.md, "Undo"; the same text stands in activate.csh and deactivate.csh): a variable that still
# holds our toolkit gets the state of the user back (unset, empty, value); one that the user changed meanwhile stays.
# BIN outlives TOOLKIT when conda is switching: PATH may hold a stale entry then. Of PATH only the first entry equal to
# BIN goes, and only if there are more of them than the user had. `if (...) command` expands its command in any case,
# so everything that may be unset stands in `if ... then`.
if ($?_ENVKIT_@SLOT@_TOOLKIT) then
    if ($?CUDA_HOME) then
        if ("x$CUDA_HOME:q" == "x$_ENVKIT_@SLOT@_TOOLKIT:q") then
            if ($?_ENVKIT_@SLOT@_HOME_WAS) then
                setenv CUDA_HOME "$_ENVKIT_@SLOT@_HOME_WAS:q"
            else
                unsetenv CUDA_HOME
            endif
        endif
    endif
    if ($?CUDA_PATH) then
        if ("x$CUDA_PATH:q" == "x$_ENVKIT_@SLOT@_TOOLKIT:q") then
            if ($?_ENVKIT_@SLOT@_PATH_WAS) then
                setenv CUDA_PATH "$_ENVKIT_@SLOT@_PATH_WAS:q"
            else
                unsetenv CUDA_PATH
            endif
        endif
    endif
endif
unsetenv _ENVKIT_@SLOT@_TOOLKIT
unsetenv _ENVKIT_@SLOT@_HOME_WAS
unsetenv _ENVKIT_@SLOT@_PATH_WAS
# A list is split at its colons, one word per entry, which begins with an x since it may be empty; blanks are hidden
# meanwhile. ($path and `set path` would make `.` of an empty entry.) The word that goes becomes `:-`, which no entry
# can be.
if ($?_ENVKIT_@SLOT@_BIN && $?PATH) then
    set _envkit_text = "x$PATH:as| |//blank//|"
    set _envkit_text = "$_envkit_text:as|	|//tab//|"
    set _envkit_text = "$_envkit_text:as|:| x|"
    set _envkit_list = ($_envkit_text:x)
    set _envkit_ours = "x$_ENVKIT_@SLOT@_BIN:as| |//blank//|"
    set _envkit_ours = "$_envkit_ours:as|	|//tab//|"
    set _envkit_left = ""
    if ($?_ENVKIT_@SLOT@_OWN) then
        set _envkit_left = "$_ENVKIT_@SLOT@_OWN:q"
    endif
    set _envkit_at = 0
    set _envkit_first = 0
    foreach _envkit_entry ($_envkit_list:q)
        @ _envkit_at++
        if ("$_envkit_entry:q" == "$_envkit_ours:q") then
            if ($_envkit_first == 0) set _envkit_first = $_envkit_at
            if ("x$_envkit_left:q" == x) then
                set _envkit_list[$_envkit_first] = ":-"
                set _envkit_text = "$_envkit_list:q"
                set _envkit_text = "$_envkit_text:s| :-||"
                set _envkit_text = "$_envkit_text:s|:- ||"
                set _envkit_text = "$_envkit_text:s|:-||"
                set _envkit_text = "$_envkit_text:as| x|:|"
                set _envkit_text = "$_envkit_text:s|x||"
                set _envkit_text = "$_envkit_text:as|//blank//| |"
                setenv PATH "$_envkit_text:as|//tab//|	|"
                break
            endif
            set _envkit_left = "$_envkit_left:s|x||"
        endif
    end
endif
# LD_LIBRARY_PATH, where a hook has added to it: the same, and it is unset again if it was unset and nothing else is
# left.
if ($?_ENVKIT_@SLOT@_LIB && $?LD_LIBRARY_PATH) then
    set _envkit_text = "x$LD_LIBRARY_PATH:as| |//blank//|"
    set _envkit_text = "$_envkit_text:as|	|//tab//|"
    set _envkit_text = "$_envkit_text:as|:| x|"
    set _envkit_list = ($_envkit_text:x)
    set _envkit_ours = "x$_ENVKIT_@SLOT@_LIB:as| |//blank//|"
    set _envkit_ours = "$_envkit_ours:as|	|//tab//|"
    set _envkit_left = ""
    if ($?_ENVKIT_@SLOT@_LIB_OWN) then
        set _envkit_left = "$_ENVKIT_@SLOT@_LIB_OWN:q"
    endif
    set _envkit_at = 0
    set _envkit_first = 0
    foreach _envkit_entry ($_envkit_list:q)
        @ _envkit_at++
        if ("$_envkit_entry:q" == "$_envkit_ours:q") then
            if ($_envkit_first == 0) set _envkit_first = $_envkit_at
            if ("x$_envkit_left:q" == x) then
                set _envkit_list[$_envkit_first] = ":-"
                set _envkit_text = "$_envkit_list:q"
                set _envkit_text = "$_envkit_text:s| :-||"
                set _envkit_text = "$_envkit_text:s|:- ||"
                set _envkit_text = "$_envkit_text:s|:-||"
                set _envkit_text = "$_envkit_text:as| x|:|"
                set _envkit_text = "$_envkit_text:s|x||"
                set _envkit_text = "$_envkit_text:as|//blank//| |"
                setenv LD_LIBRARY_PATH "$_envkit_text:as|//tab//|	|"
                if ("x$_envkit_text:q" == x && $?_ENVKIT_@SLOT@_LIB_UNSET) unsetenv LD_LIBRARY_PATH
                break
            endif
            set _envkit_left = "$_envkit_left:s|x||"
        endif
    end
endif
unsetenv _ENVKIT_@SLOT@_LIB
unsetenv _ENVKIT_@SLOT@_LIB_OWN
unsetenv _ENVKIT_@SLOT@_LIB_UNSET
# CC, CXX and CUDAHOSTCXX, where a hook has set them: one that still holds our word is unset, or goes back to that of the
# other slot (a virtual environment inside a conda environment); one that the user changed meanwhile stays.
if ($?_ENVKIT_@SLOT@_CC && $?CC) then
    if ("x$CC:q" == "x$_ENVKIT_@SLOT@_CC:q") then
        if ($?_ENVKIT_@OTHER@_CC) then
            setenv CC "$_ENVKIT_@OTHER@_CC:q"
        else
            unsetenv CC
        endif
    endif
endif
unsetenv _ENVKIT_@SLOT@_CC
if ($?_ENVKIT_@SLOT@_CXX && $?CXX) then
    if ("x$CXX:q" == "x$_ENVKIT_@SLOT@_CXX:q") then
        if ($?_ENVKIT_@OTHER@_CXX) then
            setenv CXX "$_ENVKIT_@OTHER@_CXX:q"
        else
            unsetenv CXX
        endif
    endif
endif
unsetenv _ENVKIT_@SLOT@_CXX
if ($?_ENVKIT_@SLOT@_CUDAHOSTCXX && $?CUDAHOSTCXX) then
    if ("x$CUDAHOSTCXX:q" == "x$_ENVKIT_@SLOT@_CUDAHOSTCXX:q") then
        if ($?_ENVKIT_@OTHER@_CUDAHOSTCXX) then
            setenv CUDAHOSTCXX "$_ENVKIT_@OTHER@_CUDAHOSTCXX:q"
        else
            unsetenv CUDAHOSTCXX
        endif
    endif
endif
unsetenv _ENVKIT_@SLOT@_CUDAHOSTCXX
# End of undo.
unsetenv _ENVKIT_@SLOT@_BIN
unsetenv _ENVKIT_@SLOT@_OWN
unsetenv _ENVKIT_@SLOT@_IN

# Apply ("Activate"): the recorded folder, then where this release usually lies; a conda prefix that is its own toolkit
# is that wherever it lies. tcsh looks for the end of a branch that it skips by other rules of quoting, so no value
# stands in one.
set _envkit_candidates = (@CANDIDATES@)
set _envkit_recorded = @TOOLKIT@
set _envkit_repair = @REPAIR@
set _envkit_library = @LIBRARY_PATH@
set _envkit_inside = @INSIDE@
set _envkit_cc = @HOST_CC@
set _envkit_cxx = @HOST_CXX@
set _envkit_cc_file = @HOST_CC_FILE@
set _envkit_cxx_file = @HOST_CXX_FILE@
set _envkit_toolkit = ""
set _envkit_prefix = ""
if (@SLOT@ == CONDA && $?CONDA_PREFIX) then
    set _envkit_prefix = "$CONDA_PREFIX:q"
    if ("x$_envkit_inside" != x && "x$_envkit_prefix:q" != x) set _envkit_candidates = ("$_envkit_prefix:q")
endif
foreach _envkit_entry ($_envkit_candidates:q)
    if (-d "$_envkit_entry:q/bin") then
        set _envkit_toolkit = "$_envkit_entry:q"
        break
    endif
end
if ("x$_envkit_toolkit:q" == x) then
    set _envkit_text = "envkit: there is no CUDA toolkit $_envkit_recorded:q; CUDA_HOME, CUDA_PATH and PATH stay yours."
    /bin/sh -c 'printf "%s\n" "$1" >&2 || :' envkit "$_envkit_text:q Repair: $_envkit_repair:q"
else
    # This order: an interrupt between any two lines leaves a state that undo reads rightly.
    if ($?CUDA_HOME) then
        setenv _ENVKIT_@SLOT@_HOME_WAS "$CUDA_HOME:q"
    endif
    if ($?CUDA_PATH) then
        setenv _ENVKIT_@SLOT@_PATH_WAS "$CUDA_PATH:q"
    endif
    setenv _ENVKIT_@SLOT@_TOOLKIT "$_envkit_toolkit:q"
    setenv CUDA_HOME "$_envkit_toolkit:q"
    setenv CUDA_PATH "$_envkit_toolkit:q"

    # OWN: the entries of the user that equal ours; IN: the one of conda. One `x` each: no arithmetic on inherited text.
    # A conda prefix that is its own toolkit has no entry of ours: that of conda is the same.
    if ("x$_envkit_toolkit:q" != "x$_envkit_prefix:q") then
        set _envkit_ours = "x$_envkit_toolkit:q/bin"
        set _envkit_ours = "$_envkit_ours:as| |//blank//|"
        set _envkit_ours = "$_envkit_ours:as|	|//tab//|"
        set _envkit_mine = ":-"
        if ("x$_envkit_prefix:q" != x) then
            set _envkit_mine = "x$_envkit_prefix:q/bin"
            set _envkit_mine = "$_envkit_mine:as| |//blank//|"
            set _envkit_mine = "$_envkit_mine:as|	|//tab//|"
        endif
        set _envkit_own = ""
        set _envkit_in = ""
        if ($?PATH) then
            set _envkit_text = "x$PATH:as| |//blank//|"
            set _envkit_text = "$_envkit_text:as|	|//tab//|"
            set _envkit_text = "$_envkit_text:as|:| x|"
            set _envkit_list = ($_envkit_text:x)
            foreach _envkit_entry ($_envkit_list:q)
                if ("$_envkit_entry:q" == "$_envkit_ours:q") then
                    set _envkit_own = "x$_envkit_own"
                endif
                if ("$_envkit_entry:q" == "$_envkit_mine:q") then
                    set _envkit_in = "x$_envkit_in"
                endif
            end
        endif
        setenv _ENVKIT_@SLOT@_OWN "$_envkit_own"
        if ("$_envkit_mine:q" != ":-") setenv _ENVKIT_@SLOT@_IN "$_envkit_in"
    endif

    # The library path is touched only where the spec asks for it, and never gets a colon of our own.
    set _envkit_lib = ""
    if ("x$_envkit_library" != x) then
        foreach _envkit_entry (lib64 lib)
            if (-d "$_envkit_toolkit:q/$_envkit_entry") then
                set _envkit_lib = "$_envkit_toolkit:q/$_envkit_entry"
                break
            endif
        end
    endif
    if ("x$_envkit_lib:q" != x) then
        set _envkit_own = ""
        if ($?LD_LIBRARY_PATH) then
            set _envkit_ours = "x$_envkit_lib:q"
            set _envkit_ours = "$_envkit_ours:as| |//blank//|"
            set _envkit_ours = "$_envkit_ours:as|	|//tab//|"
            set _envkit_text = "x$LD_LIBRARY_PATH:as| |//blank//|"
            set _envkit_text = "$_envkit_text:as|	|//tab//|"
            set _envkit_text = "$_envkit_text:as|:| x|"
            set _envkit_list = ($_envkit_text:x)
            foreach _envkit_entry ($_envkit_list:q)
                if ("$_envkit_entry:q" == "$_envkit_ours:q") then
                    set _envkit_own = "x$_envkit_own"
                endif
            end
        else
            setenv _ENVKIT_@SLOT@_LIB_UNSET x
        endif
        setenv _ENVKIT_@SLOT@_LIB_OWN "$_envkit_own"
        setenv _ENVKIT_@SLOT@_LIB "$_envkit_lib:q"
        if ($?LD_LIBRARY_PATH) then
            if ("x$LD_LIBRARY_PATH:q" != x) set _envkit_lib = "${_envkit_lib:q}:${LD_LIBRARY_PATH:q}"
        endif
        setenv LD_LIBRARY_PATH "$_envkit_lib:q"
    endif

    # The newest gcc that this toolkit takes, where the gcc of the system is newer; each variable that is as the other slot
    # has left it, which is unset where that has set nothing.
    set _envkit_own = ""
    if ("x$_envkit_cc:q" != x) then
        if (-x "$_envkit_cc_file:q" && -x "$_envkit_cxx_file:q") set _envkit_own = yes
    endif
    if ("$_envkit_own" == yes) then
        set _envkit_ours = ""
        if ($?_ENVKIT_@OTHER@_CC) then
            set _envkit_ours = "x$_ENVKIT_@OTHER@_CC:q"
        endif
        set _envkit_mine = ""
        if ($?CC) then
            set _envkit_mine = "x$CC:q"
        endif
        if ("$_envkit_mine:q" == "$_envkit_ours:q") then
            setenv _ENVKIT_@SLOT@_CC "$_envkit_cc:q"
            setenv CC "$_envkit_cc:q"
        endif
        set _envkit_ours = ""
        if ($?_ENVKIT_@OTHER@_CXX) then
            set _envkit_ours = "x$_ENVKIT_@OTHER@_CXX:q"
        endif
        set _envkit_mine = ""
        if ($?CXX) then
            set _envkit_mine = "x$CXX:q"
        endif
        if ("$_envkit_mine:q" == "$_envkit_ours:q") then
            setenv _ENVKIT_@SLOT@_CXX "$_envkit_cxx:q"
            setenv CXX "$_envkit_cxx:q"
        endif
        set _envkit_ours = ""
        if ($?_ENVKIT_@OTHER@_CUDAHOSTCXX) then
            set _envkit_ours = "x$_ENVKIT_@OTHER@_CUDAHOSTCXX:q"
        endif
        set _envkit_mine = ""
        if ($?CUDAHOSTCXX) then
            set _envkit_mine = "x$CUDAHOSTCXX:q"
        endif
        if ("$_envkit_mine:q" == "$_envkit_ours:q") then
            setenv _ENVKIT_@SLOT@_CUDAHOSTCXX "$_envkit_cxx:q"
            setenv CUDAHOSTCXX "$_envkit_cxx:q"
        endif
    endif

    if ("x$_envkit_toolkit:q" != "x$_envkit_prefix:q") then
        setenv _ENVKIT_@SLOT@_BIN "$_envkit_toolkit:q/bin"
        set _envkit_text = "$_envkit_toolkit:q/bin"
        if ($?PATH) then
            if ("x$PATH:q" != x) set _envkit_text = "${_envkit_text:q}:${PATH:q}"
        endif
        setenv PATH "$_envkit_text:q"
    endif
endif
unset _envkit_inside _envkit_prefix _envkit_toolkit _envkit_candidates _envkit_recorded _envkit_repair
unset _envkit_library _envkit_lib _envkit_cc _envkit_cxx _envkit_cc_file _envkit_cxx_file
unset _envkit_text _envkit_list _envkit_ours _envkit_mine _envkit_own _envkit_in _envkit_left
unset _envkit_at _envkit_first _envkit_entry
