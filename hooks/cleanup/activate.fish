# Made by envkit (`envkit hooks clean-all`; with --remove it takes this file out again): when conda switches from an
# environment of envkit to this one it brings the PATH entry of the CUDA toolkit back (conda/conda#14762); this takes it
# out again. While a toolkit is in force, below this environment in a stack, nothing is done. Rules and reasons:
# docs/activation.md in the sources of envkit. Starts no program, writes nothing, ends with status 0, leaves nothing
# behind.

if set -qg _ENVKIT_@SLOT@_BIN; and not set -qg _ENVKIT_@SLOT@_TOOLKIT
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
    set -eg _ENVKIT_@SLOT@_BIN
    set -eg _ENVKIT_@SLOT@_OWN
    set -eg _ENVKIT_@SLOT@_IN
end
true
