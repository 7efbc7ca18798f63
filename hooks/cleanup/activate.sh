# Made by envkit (`envkit hooks clean-all`; with --remove it takes this file out again): when conda switches from an
# environment of envkit to this one it brings the PATH entry of the CUDA toolkit back (conda/conda#14762); this takes it
# out again. While a toolkit is in force, below this environment in a stack, nothing is done. Rules and reasons:
# docs/activation.md in the sources of envkit. Starts no program, writes nothing, ends with status 0, leaves nothing
# behind.
# shellcheck shell=sh

# `case` only rejects early (bash's nocasematch makes it match too much), `[ = ]` decides. Entries are cut off from
# the right, which stays cheap where a loop over PATH from the left is quadratic.
if [ -n "${_ENVKIT_@SLOT@_BIN+x}" ] && [ -z "${_ENVKIT_@SLOT@_TOOLKIT+x}" ]; then
    case ":${PATH-}:" in
        *":${_ENVKIT_@SLOT@_BIN}:"*)
            \export _envkit_rest=":${PATH}:" _envkit_left="${_ENVKIT_@SLOT@_OWN-}" _envkit_head=''
            while [ -n "$_envkit_left" ]; do
                _envkit_rest="${_envkit_rest%":${_ENVKIT_@SLOT@_BIN}:"*}:"
                _envkit_left="${_envkit_left#?}"
            done
            _envkit_head="${_envkit_rest%%":${_ENVKIT_@SLOT@_BIN}:"*}"
            if [ "$_envkit_head" != "$_envkit_rest" ]; then
                _envkit_rest=":${PATH}:"
                _envkit_rest="${_envkit_head}:${_envkit_rest#"${_envkit_head}:${_ENVKIT_@SLOT@_BIN}:"}"
                _envkit_rest="${_envkit_rest#:}"
                \export PATH="${_envkit_rest%:}"
            fi
            ;;
    esac
    \unset -v _ENVKIT_@SLOT@_BIN _ENVKIT_@SLOT@_OWN _ENVKIT_@SLOT@_IN _envkit_rest _envkit_left _envkit_head
fi
