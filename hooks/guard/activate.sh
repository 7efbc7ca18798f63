# Made by envkit: while this environment is active its locked versions hold for uv too (UV_CONSTRAINT), and in a conda
# prefix Python does not look into the user's own site-packages (PYTHONNOUSERSITE). Rules and reasons:
# docs/activation.md in envkit's sources. POSIX sh, sourced by dash, bash and zsh under any options and IFS: starts no
# program, writes nothing, ends with status 0, leaves nothing behind.
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

# Apply. This order: an interrupt between any two lines leaves a state that undo reads rightly. Without the file uv
# would refuse everything, so a folder that has gone is left alone.
if [ -f @FILE@ ]; then
    if [ -n "${UV_CONSTRAINT+x}" ]; then \export _ENVKIT_@SLOT@_GUARD_WAS="$UV_CONSTRAINT"; fi
    \export _ENVKIT_@SLOT@_GUARD=@ENTRY@
    \export UV_CONSTRAINT="${UV_CONSTRAINT:+${UV_CONSTRAINT} }${_ENVKIT_@SLOT@_GUARD}"
fi

# In a conda prefix: packages in the user's own site-packages would hide the environment's.
# shellcheck disable=SC2157  # constant once the value is filled in
if [ -n @USER_SITE_OFF@ ]; then
    if [ -n "${PYTHONNOUSERSITE+x}" ]; then \export _ENVKIT_@SLOT@_SITE_WAS="$PYTHONNOUSERSITE"; fi
    \export _ENVKIT_@SLOT@_SITE=1
    \export PYTHONNOUSERSITE=1
fi
