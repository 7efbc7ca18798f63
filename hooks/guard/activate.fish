# Made by envkit: while this environment is active its locked versions hold for uv too (UV_CONSTRAINT), and in a conda
# prefix Python does not look into the user's own site-packages (PYTHONNOUSERSITE). Rules and reasons:
# docs/activation.md in envkit's sources. Starts no program, writes nothing, ends with status 0, leaves nothing behind.

# Undo (docs/activation.md, "The guard"; the same text stands in activate.fish and deactivate.fish): while UV_CONSTRAINT
# is what a hook made of it, the user's state comes back (unset, empty, value). A value that the user changed meanwhile
# stays, without our entry: the first word equal to it goes. Only globals are touched,
# so a universal variable shows again.
if test -n "$_ENVKIT_@SLOT@_GUARD"; and set -qg UV_CONSTRAINT
    begin
        set -l ours "$_ENVKIT_@SLOT@_GUARD"
        set -l made "$ours"
        if test -n "$_ENVKIT_@SLOT@_GUARD_WAS"
            set made "$_ENVKIT_@SLOT@_GUARD_WAS $ours"
        end
        if test "$UV_CONSTRAINT" = "$made"
            set -eg UV_CONSTRAINT
            if set -qg _ENVKIT_@SLOT@_GUARD_WAS
                if not set -qUx UV_CONSTRAINT; or test "$UV_CONSTRAINT" != "$_ENVKIT_@SLOT@_GUARD_WAS"
                    set -gx UV_CONSTRAINT "$_ENVKIT_@SLOT@_GUARD_WAS"
                end
            end
        else
            set -l words (string split -- ' ' "$UV_CONSTRAINT")
            set -l at (contains -i -- "$ours" $words)
            if test -n "$at"
                set -e words[$at]
                set -gx UV_CONSTRAINT (string join -- ' ' $words)
                if test -z "$UV_CONSTRAINT"; and not set -qg _ENVKIT_@SLOT@_GUARD_WAS
                    set -eg UV_CONSTRAINT
                end
            end
        end
    end
end
set -eg _ENVKIT_@SLOT@_GUARD
set -eg _ENVKIT_@SLOT@_GUARD_WAS
# PYTHONNOUSERSITE, where a hook has set it: the user's state, unless he has changed it.
if test -n "$_ENVKIT_@SLOT@_SITE"; and set -qg PYTHONNOUSERSITE
    if test "$PYTHONNOUSERSITE" = "$_ENVKIT_@SLOT@_SITE"
        set -eg PYTHONNOUSERSITE
        if set -qg _ENVKIT_@SLOT@_SITE_WAS
            if not set -qUx PYTHONNOUSERSITE; or test "$PYTHONNOUSERSITE" != "$_ENVKIT_@SLOT@_SITE_WAS"
                set -gx PYTHONNOUSERSITE "$_ENVKIT_@SLOT@_SITE_WAS"
            end
        end
    end
end
set -eg _ENVKIT_@SLOT@_SITE
set -eg _ENVKIT_@SLOT@_SITE_WAS
# End of undo.

# Apply. This order: an interrupt between any two lines leaves a state that undo reads rightly. Without the file uv
# would refuse everything, so a folder that has gone is left alone.
if test -f @FILE@
    if set -q UV_CONSTRAINT
        set -gx _ENVKIT_@SLOT@_GUARD_WAS "$UV_CONSTRAINT"
    end
    set -gx _ENVKIT_@SLOT@_GUARD @ENTRY@
    if test -n "$UV_CONSTRAINT"
        set -gx UV_CONSTRAINT "$UV_CONSTRAINT $_ENVKIT_@SLOT@_GUARD"
    else
        set -gx UV_CONSTRAINT "$_ENVKIT_@SLOT@_GUARD"
    end
end

# In a conda prefix: packages in the user's own site-packages would hide the environment's.
if test -n @USER_SITE_OFF@
    if set -q PYTHONNOUSERSITE
        set -gx _ENVKIT_@SLOT@_SITE_WAS "$PYTHONNOUSERSITE"
    end
    set -gx _ENVKIT_@SLOT@_SITE 1
    set -gx PYTHONNOUSERSITE 1
end
true
