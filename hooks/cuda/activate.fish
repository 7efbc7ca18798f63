# Made by envkit: switches to this environment's CUDA toolkit. Rules and reasons: docs/activation.md in envkit's
# sources. Starts no program, writes nothing to stdout, ends with status 0, leaves nothing behind.

# Undo (docs/activation.md, "Undo"; the same text stands in activate.fish and deactivate.fish): a variable that still
# holds our toolkit gets the user's state back (unset, empty, value); one that the user changed meanwhile stays. BIN
# outlives TOOLKIT when conda is switching: PATH may hold a stale entry then. Of PATH only the first entry equal to
# BIN goes, and only if there are more of them than the user had. Only globals are touched, so a universal variable
# shows again.
if set -qg _ENVKIT_@SLOT@_TOOLKIT
    if test "$CUDA_HOME" = "$_ENVKIT_@SLOT@_TOOLKIT"
        if set -qg _ENVKIT_@SLOT@_HOME_WAS
            set -gx CUDA_HOME "$_ENVKIT_@SLOT@_HOME_WAS"
        else
            set -eg CUDA_HOME
        end
    end
    if test "$CUDA_PATH" = "$_ENVKIT_@SLOT@_TOOLKIT"
        if set -qg _ENVKIT_@SLOT@_PATH_WAS
            set -gx CUDA_PATH "$_ENVKIT_@SLOT@_PATH_WAS"
        else
            set -eg CUDA_PATH
        end
    end
end
set -eg _ENVKIT_@SLOT@_TOOLKIT
set -eg _ENVKIT_@SLOT@_HOME_WAS
set -eg _ENVKIT_@SLOT@_PATH_WAS
if set -qg _ENVKIT_@SLOT@_BIN
    begin
        set -l first (contains -i -- "$_ENVKIT_@SLOT@_BIN" $PATH)
        set -l rest $PATH
        set -l left "x$_ENVKIT_@SLOT@_OWN"
        while test -n "$left"
            set -l at (contains -i -- "$_ENVKIT_@SLOT@_BIN" $rest)
            or break
            set -e rest[1..$at]
            set left (string sub -s 2 -- "$left")
        end
        if test -z "$left"
            set -eg PATH[$first]
        end
    end
end
# LD_LIBRARY_PATH, where a hook has added to it: the same, and it is unset again if it was unset and nothing else is
# left.
if set -qg _ENVKIT_@SLOT@_LIB
    begin
        set -l first (contains -i -- "$_ENVKIT_@SLOT@_LIB" $LD_LIBRARY_PATH)
        set -l rest $LD_LIBRARY_PATH
        set -l left "x$_ENVKIT_@SLOT@_LIB_OWN"
        while test -n "$left"
            set -l at (contains -i -- "$_ENVKIT_@SLOT@_LIB" $rest)
            or break
            set -e rest[1..$at]
            set left (string sub -s 2 -- "$left")
        end
        if test -z "$left"
            set -eg LD_LIBRARY_PATH[$first]
            if test -z "$LD_LIBRARY_PATH"; and set -qg _ENVKIT_@SLOT@_LIB_UNSET
                set -eg LD_LIBRARY_PATH
            end
        end
    end
end
set -eg _ENVKIT_@SLOT@_LIB
set -eg _ENVKIT_@SLOT@_LIB_OWN
set -eg _ENVKIT_@SLOT@_LIB_UNSET
# CC, CXX and CUDAHOSTCXX, where a hook has set them: one that still holds our word is unset, or goes back to that of the
# other slot (a virtual environment inside a conda environment); one that the user changed meanwhile stays.
if set -qg _ENVKIT_@SLOT@_CC
    if test "$CC" = "$_ENVKIT_@SLOT@_CC"
        if set -qg _ENVKIT_@OTHER@_CC
            set -gx CC "$_ENVKIT_@OTHER@_CC"
        else
            set -eg CC
        end
    end
    set -eg _ENVKIT_@SLOT@_CC
end
if set -qg _ENVKIT_@SLOT@_CXX
    if test "$CXX" = "$_ENVKIT_@SLOT@_CXX"
        if set -qg _ENVKIT_@OTHER@_CXX
            set -gx CXX "$_ENVKIT_@OTHER@_CXX"
        else
            set -eg CXX
        end
    end
    set -eg _ENVKIT_@SLOT@_CXX
end
if set -qg _ENVKIT_@SLOT@_CUDAHOSTCXX
    if test "$CUDAHOSTCXX" = "$_ENVKIT_@SLOT@_CUDAHOSTCXX"
        if set -qg _ENVKIT_@OTHER@_CUDAHOSTCXX
            set -gx CUDAHOSTCXX "$_ENVKIT_@OTHER@_CUDAHOSTCXX"
        else
            set -eg CUDAHOSTCXX
        end
    end
    set -eg _ENVKIT_@SLOT@_CUDAHOSTCXX
end
# End of undo.
set -eg _ENVKIT_@SLOT@_BIN
set -eg _ENVKIT_@SLOT@_OWN
set -eg _ENVKIT_@SLOT@_IN

# Apply ("Activate"): the recorded folder, then where this release usually lies; a conda prefix that is its own toolkit
# is that wherever it lies.
begin
    set -l toolkit
    set -l prefix
    if test @SLOT@ = CONDA; and test -n "$CONDA_PREFIX"
        set prefix "$CONDA_PREFIX"
    end
    for candidate in @CANDIDATES@
        if test -n @INSIDE@; and test -n "$prefix"
            set candidate "$prefix"
        end
        if test -d "$candidate/bin"
            set toolkit $candidate
            break
        end
    end
    if test -z "$toolkit"
        printf 'envkit: there is no CUDA toolkit %s; CUDA_HOME, CUDA_PATH and PATH stay yours. Repair: %s\n' \
            @TOOLKIT@ @REPAIR@ >&2
    else
        # This order: an interrupt between any two lines leaves a state that undo reads rightly. Quotes keep an empty
        # value one element, and join CUDA_PATH (a list to fish, as any name that ends in PATH) by the colons it came
        # with.
        if set -qg CUDA_HOME
            set -gx _ENVKIT_@SLOT@_HOME_WAS "$CUDA_HOME"
        end
        if set -qg CUDA_PATH
            set -gx _ENVKIT_@SLOT@_PATH_WAS "$CUDA_PATH"
        end
        set -gx _ENVKIT_@SLOT@_TOOLKIT "$toolkit"
        set -gx CUDA_HOME "$toolkit"
        set -gx CUDA_PATH "$toolkit"

        # OWN: the user's entries equal to ours; IN: conda's own entry. One `x` each, as in the .sh hooks. A conda
        # prefix that is its own toolkit has no entry of ours: conda's is the same.
        set -l rest
        set -l marks
        if test "$toolkit" != "$prefix"
            set rest $PATH
            set marks ""
            while set -l at (contains -i -- "$toolkit/bin" $rest)
                set -e rest[1..$at]
                set marks "x$marks"
            end
            set -gx _ENVKIT_@SLOT@_OWN "$marks"
            if test -n "$prefix"
                set rest $PATH
                set marks ""
                while set -l at (contains -i -- "$prefix/bin" $rest)
                    set -e rest[1..$at]
                    set marks "x$marks"
                end
                set -gx _ENVKIT_@SLOT@_IN "$marks"
            end
        end

        # The library path is touched only where the spec asks for it, and never gets an empty element of our own.
        set -l lib
        if test -n @LIBRARY_PATH@
            for candidate in "$toolkit/lib64" "$toolkit/lib"
                if test -d "$candidate"
                    set lib "$candidate"
                    break
                end
            end
        end
        if test -n "$lib"
            if not set -qg LD_LIBRARY_PATH
                set -gx _ENVKIT_@SLOT@_LIB_UNSET x
            end
            set rest $LD_LIBRARY_PATH
            set marks ""
            while set -l at (contains -i -- "$lib" $rest)
                set -e rest[1..$at]
                set marks "x$marks"
            end
            set -gx _ENVKIT_@SLOT@_LIB_OWN "$marks"
            set -gx _ENVKIT_@SLOT@_LIB "$lib"
            if test -n "$LD_LIBRARY_PATH"
                set -gx LD_LIBRARY_PATH "$lib" $LD_LIBRARY_PATH
            else
                set -gx LD_LIBRARY_PATH "$lib"
            end
        end

        # The newest gcc that this toolkit takes, where the system's own is newer; each variable that is as the other slot
        # has left it, which is unset where that has set nothing. Universal ones count as set.
        set -l others
        set -l users
        if test -n @HOST_CC@; and test -x @HOST_CC_FILE@; and test -x @HOST_CXX_FILE@
            set others
            set -qg _ENVKIT_@OTHER@_CC; and set others "x$_ENVKIT_@OTHER@_CC"
            set users
            set -qg CC; or set -qU CC; and set users "x$CC"
            if test "$users" = "$others"
                set -gx _ENVKIT_@SLOT@_CC @HOST_CC@
                set -gx CC @HOST_CC@
            end
            set others
            set -qg _ENVKIT_@OTHER@_CXX; and set others "x$_ENVKIT_@OTHER@_CXX"
            set users
            set -qg CXX; or set -qU CXX; and set users "x$CXX"
            if test "$users" = "$others"
                set -gx _ENVKIT_@SLOT@_CXX @HOST_CXX@
                set -gx CXX @HOST_CXX@
            end
            set others
            set -qg _ENVKIT_@OTHER@_CUDAHOSTCXX; and set others "x$_ENVKIT_@OTHER@_CUDAHOSTCXX"
            set users
            set -qg CUDAHOSTCXX; or set -qU CUDAHOSTCXX; and set users "x$CUDAHOSTCXX"
            if test "$users" = "$others"
                set -gx _ENVKIT_@SLOT@_CUDAHOSTCXX @HOST_CXX@
                set -gx CUDAHOSTCXX @HOST_CXX@
            end
        end

        if test "$toolkit" != "$prefix"
            set -gx _ENVKIT_@SLOT@_BIN "$toolkit/bin"
            set -gx PATH "$toolkit/bin" $PATH
        end
    end
end
true
