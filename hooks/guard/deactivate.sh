# Made by envkit: gives back what activate.d/envkit-guard.sh changed. Rules and reasons: docs/activation.md in envkit's
# sources. Starts no program, writes nothing, ends with status 0, leaves nothing behind. Sourced without an activation
# before it, it changes nothing.
# shellcheck shell=sh

# Undo (docs/activation.md, "The guard"; the same text stands in activate.sh and deactivate.sh): while UV_CONSTRAINT is
# what a hook made of it, the user's state comes back (unset, empty, value). A value that the user changed meanwhile
# stays, without our entry: the first word equal to it goes.
if [ -n "${_ENVKIT_@SLOT@_GUARD-}" ] && [ -n "${UV_CONSTRAINT+x}" ]; then
    \export _envkit_rest="${_ENVKIT_@SLOT@_GUARD}" _envkit_head=''
    if [ -n "${_ENVKIT_@SLOT@_GUARD_WAS-}" ]; then
        _envkit_rest="${_ENVKIT_@SLOT@_GUARD_WAS} ${_envkit_rest}"
    fi
    if [ "$UV_CONSTRAINT" = "$_envkit_rest" ]; then
        if [ -n "${_ENVKIT_@SLOT@_GUARD_WAS+x}" ]; then
            \export UV_CONSTRAINT="$_ENVKIT_@SLOT@_GUARD_WAS"
        else
            \unset -v UV_CONSTRAINT
        fi
    else
        _envkit_rest=" ${UV_CONSTRAINT} "
        _envkit_head="${_envkit_rest%%" ${_ENVKIT_@SLOT@_GUARD} "*}"
        if [ "$_envkit_head" != "$_envkit_rest" ]; then
            _envkit_rest="${_envkit_head} ${_envkit_rest#"${_envkit_head} ${_ENVKIT_@SLOT@_GUARD} "}"
            _envkit_rest="${_envkit_rest# }"
            \export UV_CONSTRAINT="${_envkit_rest% }"
            if [ -z "$UV_CONSTRAINT" ] && [ -z "${_ENVKIT_@SLOT@_GUARD_WAS+x}" ]; then \unset -v UV_CONSTRAINT; fi
        fi
    fi
fi
\unset -v _ENVKIT_@SLOT@_GUARD _ENVKIT_@SLOT@_GUARD_WAS _envkit_rest _envkit_head
# PYTHONNOUSERSITE, where a hook has set it: the user's state, unless he has changed it.
if [ -n "${_ENVKIT_@SLOT@_SITE-}" ] && [ "${PYTHONNOUSERSITE-}" = "$_ENVKIT_@SLOT@_SITE" ]; then
    if [ -n "${_ENVKIT_@SLOT@_SITE_WAS+x}" ]; then
        \export PYTHONNOUSERSITE="$_ENVKIT_@SLOT@_SITE_WAS"
    else
        \unset -v PYTHONNOUSERSITE
    fi
fi
\unset -v _ENVKIT_@SLOT@_SITE _ENVKIT_@SLOT@_SITE_WAS
# End of undo.
