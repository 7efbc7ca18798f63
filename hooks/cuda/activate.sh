# Made by envkit: switches to this environment's CUDA toolkit. Rules and reasons: docs/activation.md in envkit's
# sources. POSIX sh, sourced by dash, bash and zsh under any options and IFS: starts no program, writes nothing to
# stdout, ends with status 0, leaves nothing behind. Aliases are avoided by the backslash, `for` words and values are
# quoted by envkit.
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
\unset -v _ENVKIT_@SLOT@_BIN _ENVKIT_@SLOT@_OWN _ENVKIT_@SLOT@_IN

# Apply ("Activate"): the recorded folder, then where this release usually lies; a conda prefix that is its own toolkit
# is that wherever it lies. Temporaries are exported because a plain assignment warns under zsh's warn_create_global.
\export _envkit_toolkit='' _envkit_rest='' _envkit_cut='' _envkit_prefix=''
# shellcheck disable=SC2050  # constant once the slot is filled in
if [ @SLOT@ = CONDA ]; then _envkit_prefix="${CONDA_PREFIX-}"; fi
# shellcheck disable=SC2157  # constant once the value is filled in
if [ -n @INSIDE@ ] && [ -n "$_envkit_prefix" ]; then _envkit_toolkit="$_envkit_prefix"; fi
if [ -z "$_envkit_toolkit" ]; then
    for _envkit_toolkit in @CANDIDATES@; do
        if [ -d "${_envkit_toolkit}/bin" ]; then \break; fi
        _envkit_toolkit=
    done
fi
if [ -z "$_envkit_toolkit" ]; then
    \printf 'envkit: there is no CUDA toolkit %s; CUDA_HOME, CUDA_PATH and PATH stay yours. Repair: %s\n' \
        @TOOLKIT@ @REPAIR@ >&2 || :
else
    # This order: an interrupt between any two lines leaves a state that undo reads rightly.
    if [ -n "${CUDA_HOME+x}" ]; then \export _ENVKIT_@SLOT@_HOME_WAS="$CUDA_HOME"; fi
    if [ -n "${CUDA_PATH+x}" ]; then \export _ENVKIT_@SLOT@_PATH_WAS="$CUDA_PATH"; fi
    \export _ENVKIT_@SLOT@_TOOLKIT="$_envkit_toolkit"
    \export CUDA_HOME="$_envkit_toolkit" CUDA_PATH="$_envkit_toolkit"

    # OWN: the user's entries equal to ours; IN: conda's own entry. One `x` each: no arithmetic on inherited text. A
    # conda prefix that is its own toolkit has no entry of ours: conda's is the same.
    if [ "$_envkit_toolkit" != "$_envkit_prefix" ]; then
        \export _ENVKIT_@SLOT@_OWN=''
        case ":${PATH-}:" in
            *":${_envkit_toolkit}/bin:"*)
                _envkit_rest=":${PATH}:"
                _envkit_cut="${_envkit_rest%":${_envkit_toolkit}/bin:"*}"
                while [ "$_envkit_cut" != "$_envkit_rest" ]; do
                    _ENVKIT_@SLOT@_OWN="${_ENVKIT_@SLOT@_OWN}x"
                    _envkit_rest="${_envkit_cut}:"
                    _envkit_cut="${_envkit_rest%":${_envkit_toolkit}/bin:"*}"
                done
                ;;
        esac
        if [ -n "$_envkit_prefix" ]; then
            \export _ENVKIT_@SLOT@_IN=''
            _envkit_rest=":${PATH-}:"
            _envkit_cut="${_envkit_rest%":${_envkit_prefix}/bin:"*}"
            while [ "$_envkit_cut" != "$_envkit_rest" ]; do
                _ENVKIT_@SLOT@_IN="${_ENVKIT_@SLOT@_IN}x"
                _envkit_rest="${_envkit_cut}:"
                _envkit_cut="${_envkit_rest%":${_envkit_prefix}/bin:"*}"
            done
        fi
    fi

    # The library path is touched only where the spec asks for it, and never gets a colon of our own.
    # shellcheck disable=SC2157  # constant once the value is filled in
    if [ -n @LIBRARY_PATH@ ] && { [ -d "${_envkit_toolkit}/lib64" ] || [ -d "${_envkit_toolkit}/lib" ]; }; then
        if [ -z "${LD_LIBRARY_PATH+x}" ]; then \export _ENVKIT_@SLOT@_LIB_UNSET=x; fi
        \export _ENVKIT_@SLOT@_LIB_OWN='' _envkit_lib="${_envkit_toolkit}/lib64"
        if [ ! -d "$_envkit_lib" ]; then _envkit_lib="${_envkit_toolkit}/lib"; fi
        _envkit_rest=":${LD_LIBRARY_PATH-}:"
        _envkit_cut="${_envkit_rest%":${_envkit_lib}:"*}"
        while [ "$_envkit_cut" != "$_envkit_rest" ]; do
            _ENVKIT_@SLOT@_LIB_OWN="${_ENVKIT_@SLOT@_LIB_OWN}x"
            _envkit_rest="${_envkit_cut}:"
            _envkit_cut="${_envkit_rest%":${_envkit_lib}:"*}"
        done
        \export _ENVKIT_@SLOT@_LIB="$_envkit_lib"
        \export LD_LIBRARY_PATH="${_envkit_lib}${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}"
    fi

    # The newest gcc that this toolkit takes, where the system's own is newer; each variable that is as the other slot has
    # left it, which is unset where that has set nothing.
    # shellcheck disable=SC2157  # constant once the value is filled in
    if [ -n @HOST_CC@ ] && [ -x @HOST_CC_FILE@ ] && [ -x @HOST_CXX_FILE@ ]; then
        if [ "${CC+x${CC}}" = "${_ENVKIT_@OTHER@_CC+x${_ENVKIT_@OTHER@_CC}}" ]; then
            \export _ENVKIT_@SLOT@_CC=@HOST_CC@ CC=@HOST_CC@
        fi
        if [ "${CXX+x${CXX}}" = "${_ENVKIT_@OTHER@_CXX+x${_ENVKIT_@OTHER@_CXX}}" ]; then
            \export _ENVKIT_@SLOT@_CXX=@HOST_CXX@ CXX=@HOST_CXX@
        fi
        if [ "${CUDAHOSTCXX+x${CUDAHOSTCXX}}" = "${_ENVKIT_@OTHER@_CUDAHOSTCXX+x${_ENVKIT_@OTHER@_CUDAHOSTCXX}}" ]; then
            \export _ENVKIT_@SLOT@_CUDAHOSTCXX=@HOST_CXX@ CUDAHOSTCXX=@HOST_CXX@
        fi
    fi

    if [ "$_envkit_toolkit" != "$_envkit_prefix" ]; then
        \export _ENVKIT_@SLOT@_BIN="${_envkit_toolkit}/bin"
        \export PATH="${_envkit_toolkit}/bin${PATH:+:${PATH}}"
    fi
fi
\unset -v _envkit_toolkit _envkit_rest _envkit_left _envkit_head _envkit_cut _envkit_lib _envkit_prefix
