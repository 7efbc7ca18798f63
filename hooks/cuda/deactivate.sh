# Made by envkit: gives back what activate.d/envkit-cuda.sh changed. Rules and reasons: docs/activation.md in envkit's
# sources. POSIX sh, sourced by dash, bash and zsh under any options and IFS: starts no program, writes nothing to
# stdout, ends with status 0, leaves nothing behind. Sourced without an activation before it, it changes nothing.
# shellcheck shell=sh

# Undo (docs/activation.md, "Undo"; the same text stands in activate.sh and deactivate.sh): a variable that still
# holds our toolkit gets the user's state back (unset, empty, value); one that the user changed meanwhile stays. BIN
# outlives TOOLKIT when conda is switching: PATH may hold a stale entry then. Of PATH only the first entry equal to
# BIN goes, and only if there are more of them than the user had.
if [ -n "${_ENVKIT_@SLOT@_TOOLKIT+x}" ]; then
    if [ "${CUDA_HOME-}" = "$_ENVKIT_@SLOT@_TOOLKIT" ]; then
        if [ -n "${_ENVKIT_@SLOT@_HOME_WAS+x}" ]; then
            \export CUDA_HOME="$_ENVKIT_@SLOT@_HOME_WAS"
        else
            \unset -v CUDA_HOME
        fi
    fi
    if [ "${CUDA_PATH-}" = "$_ENVKIT_@SLOT@_TOOLKIT" ]; then
        if [ -n "${_ENVKIT_@SLOT@_PATH_WAS+x}" ]; then
            \export CUDA_PATH="$_ENVKIT_@SLOT@_PATH_WAS"
        else
            \unset -v CUDA_PATH
        fi
    fi
fi
\unset -v _ENVKIT_@SLOT@_TOOLKIT _ENVKIT_@SLOT@_HOME_WAS _ENVKIT_@SLOT@_PATH_WAS
# `case` only rejects early (bash's nocasematch makes it match too much), `[ = ]` decides. Entries are cut off from
# the right, which stays cheap where a loop over PATH from the left is quadratic.
if [ -n "${_ENVKIT_@SLOT@_BIN+x}" ]; then
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
fi
# LD_LIBRARY_PATH, where a hook has added to it: the same, and it is unset again if it was unset and nothing else is
# left.
if [ -n "${_ENVKIT_@SLOT@_LIB+x}" ]; then
    case ":${LD_LIBRARY_PATH-}:" in
        *":${_ENVKIT_@SLOT@_LIB}:"*)
            \export _envkit_rest=":${LD_LIBRARY_PATH}:" _envkit_left="${_ENVKIT_@SLOT@_LIB_OWN-}" _envkit_head=''
            while [ -n "$_envkit_left" ]; do
                _envkit_rest="${_envkit_rest%":${_ENVKIT_@SLOT@_LIB}:"*}:"
                _envkit_left="${_envkit_left#?}"
            done
            _envkit_head="${_envkit_rest%%":${_ENVKIT_@SLOT@_LIB}:"*}"
            if [ "$_envkit_head" != "$_envkit_rest" ]; then
                _envkit_rest=":${LD_LIBRARY_PATH}:"
                _envkit_rest="${_envkit_head}:${_envkit_rest#"${_envkit_head}:${_ENVKIT_@SLOT@_LIB}:"}"
                _envkit_rest="${_envkit_rest#:}"
                \export LD_LIBRARY_PATH="${_envkit_rest%:}"
                if [ -z "$LD_LIBRARY_PATH" ] && [ -n "${_ENVKIT_@SLOT@_LIB_UNSET+x}" ]; then
                    \unset -v LD_LIBRARY_PATH
                fi
            fi
            ;;
    esac
fi
\unset -v _ENVKIT_@SLOT@_LIB _ENVKIT_@SLOT@_LIB_OWN _ENVKIT_@SLOT@_LIB_UNSET
# CC, CXX and CUDAHOSTCXX, where a hook has set them: one that still holds our word is unset, or goes back to that of the
# other slot (a virtual environment inside a conda environment); one that the user changed meanwhile stays.
if [ -n "${_ENVKIT_@SLOT@_CC+x}" ] && [ "${CC-}" = "$_ENVKIT_@SLOT@_CC" ]; then
    if [ -n "${_ENVKIT_@OTHER@_CC+x}" ]; then
        \export CC="$_ENVKIT_@OTHER@_CC"
    else
        \unset -v CC
    fi
fi
if [ -n "${_ENVKIT_@SLOT@_CXX+x}" ] && [ "${CXX-}" = "$_ENVKIT_@SLOT@_CXX" ]; then
    if [ -n "${_ENVKIT_@OTHER@_CXX+x}" ]; then
        \export CXX="$_ENVKIT_@OTHER@_CXX"
    else
        \unset -v CXX
    fi
fi
if [ -n "${_ENVKIT_@SLOT@_CUDAHOSTCXX+x}" ] && [ "${CUDAHOSTCXX-}" = "$_ENVKIT_@SLOT@_CUDAHOSTCXX" ]; then
    if [ -n "${_ENVKIT_@OTHER@_CUDAHOSTCXX+x}" ]; then
        \export CUDAHOSTCXX="$_ENVKIT_@OTHER@_CUDAHOSTCXX"
    else
        \unset -v CUDAHOSTCXX
    fi
fi
\unset -v _ENVKIT_@SLOT@_CC _ENVKIT_@SLOT@_CXX _ENVKIT_@SLOT@_CUDAHOSTCXX
# End of undo.

# Is a switch under way ("Deactivate")? conda then exports a PATH that it computed before this hook ran, so our entry
# returns, and the next activation needs BIN, OWN and IN to remove it (conda/conda#14762). A real deactivation has
# taken one entry PREFIX/bin out of PATH already; without conda (conda-pack, sourced alone, a venv) nothing comes
# back.
# shellcheck disable=SC2050  # constant once the slot is filled in
if [ @SLOT@ = CONDA ] && [ -n "${_ENVKIT_@SLOT@_BIN+x}" ] && [ -n "${CONDA_PREFIX-}" ] &&
    [ -n "${CONDA_SHLVL-}" ] && [ "$CONDA_SHLVL" != 0 ]; then
    \export _envkit_rest=":${PATH-}:" _envkit_left="${_ENVKIT_@SLOT@_IN-}" _envkit_head=''
    while [ -n "$_envkit_left" ]; do
        _envkit_head="${_envkit_rest%":${CONDA_PREFIX}/bin:"*}"
        if [ "$_envkit_head" = "$_envkit_rest" ]; then \break; fi
        _envkit_rest="${_envkit_head}:"
        _envkit_left="${_envkit_left#?}"
    done
    if [ -n "$_envkit_left" ]; then
        \unset -v _ENVKIT_@SLOT@_BIN _ENVKIT_@SLOT@_OWN _ENVKIT_@SLOT@_IN
    fi
else
    \unset -v _ENVKIT_@SLOT@_BIN _ENVKIT_@SLOT@_OWN _ENVKIT_@SLOT@_IN
fi
\unset -v _envkit_toolkit _envkit_rest _envkit_left _envkit_head _envkit_cut _envkit_lib _envkit_prefix
