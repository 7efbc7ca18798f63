# Made by envkit: gives back what activate.d/envkit-cuda.csh changed. Rules and reasons: docs/activation.md in the
# sources of envkit. For tcsh: starts no program, writes nothing, ends with status 0, leaves nothing behind. Sourced
# without an activation before it, it changes nothing.

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

# Is a switch under way ("Deactivate")? conda then exports a PATH that it computed before this hook ran, so our entry
# returns, and the next activation needs BIN, OWN and IN to remove it (conda/conda#14762). A real deactivation has
# taken one entry PREFIX/bin out of PATH already; without conda (conda-pack, sourced alone, a venv) nothing comes
# back.
set _envkit_left = x
if (@SLOT@ == CONDA && $?_ENVKIT_@SLOT@_BIN && $?CONDA_PREFIX && $?CONDA_SHLVL && $?PATH) then
    if ("x$CONDA_PREFIX:q" != x && "x$CONDA_SHLVL:q" != x && "x$CONDA_SHLVL:q" != x0) then
        set _envkit_left = ""
        if ($?_ENVKIT_@SLOT@_IN) then
            set _envkit_left = "$_ENVKIT_@SLOT@_IN:q"
        endif
        set _envkit_mine = "x$CONDA_PREFIX:q/bin"
        set _envkit_mine = "$_envkit_mine:as| |//blank//|"
        set _envkit_mine = "$_envkit_mine:as|	|//tab//|"
        set _envkit_text = "x$PATH:as| |//blank//|"
        set _envkit_text = "$_envkit_text:as|	|//tab//|"
        set _envkit_text = "$_envkit_text:as|:| x|"
        set _envkit_list = ($_envkit_text:x)
        foreach _envkit_entry ($_envkit_list:q)
            if ("$_envkit_entry:q" == "$_envkit_mine:q") then
                set _envkit_left = "$_envkit_left:s|x||"
            endif
        end
    endif
endif
if ("x$_envkit_left:q" != x) then
    unsetenv _ENVKIT_@SLOT@_BIN
    unsetenv _ENVKIT_@SLOT@_OWN
    unsetenv _ENVKIT_@SLOT@_IN
endif
unset _envkit_inside _envkit_prefix _envkit_toolkit _envkit_candidates _envkit_recorded _envkit_repair
unset _envkit_library _envkit_lib _envkit_cc _envkit_cxx _envkit_cc_file _envkit_cxx_file
unset _envkit_text _envkit_list _envkit_ours _envkit_mine _envkit_own _envkit_in _envkit_left
unset _envkit_at _envkit_first _envkit_entry
