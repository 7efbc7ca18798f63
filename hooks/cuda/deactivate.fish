# Made by envkit: gives back what activate.d/envkit-cuda.fish changed. Rules and reasons: docs/activation.md in
# envkit's sources. Starts no program, writes nothing to stdout, ends with status 0, leaves nothing behind. Sourced
# without an activation before it, it changes nothing.

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

# Is a switch under way ("Deactivate")? conda then exports a PATH that it computed before this hook ran, so our entry
# returns, and the next activation needs BIN, OWN and IN to remove it (conda/conda#14762). A real deactivation has
# taken one entry PREFIX/bin out of PATH already; without conda (conda-pack, sourced alone, a venv) nothing comes
# back.
begin
    set -l left x
    if test @SLOT@ = CONDA; and set -qg _ENVKIT_@SLOT@_BIN; and test -n "$CONDA_PREFIX"
        and test -n "$CONDA_SHLVL"; and test "$CONDA_SHLVL" != 0
        set left "$_ENVKIT_@SLOT@_IN"
        set -l rest $PATH
        while test -n "$left"
            set -l at (contains -i -- "$CONDA_PREFIX/bin" $rest)
            or break
            set -e rest[1..$at]
            set left (string sub -s 2 -- "$left")
        end
    end
    if test -n "$left"
        set -eg _ENVKIT_@SLOT@_BIN
        set -eg _ENVKIT_@SLOT@_OWN
        set -eg _ENVKIT_@SLOT@_IN
    end
end
true
