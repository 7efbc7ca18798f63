# Made by envkit: while this environment is active its locked versions hold for uv too (UV_CONSTRAINT), and in a conda
# prefix Python does not look into the site-packages of the user (PYTHONNOUSERSITE). Rules and reasons:
# docs/activation.md in the sources of envkit. For tcsh: starts no program, writes nothing, ends with status 0, leaves
# nothing behind.

# Undo (docs/activation.md, "The guard"; the same text stands in activate.csh and deactivate.csh): while UV_CONSTRAINT
# is what a hook made of it, the state of the user comes back (unset, empty, value). A value that the user changed
# meanwhile stays, without our entry: the first word equal to it goes. `if (...) command` expands its command in any
# case, so everything that may be unset stands in `if ... then`.
if ($?_ENVKIT_@SLOT@_GUARD && $?UV_CONSTRAINT) then
    set _envkit_text = "$_ENVKIT_@SLOT@_GUARD:q"
    if ($?_ENVKIT_@SLOT@_GUARD_WAS) then
        if ("x$_ENVKIT_@SLOT@_GUARD_WAS:q" != x) then
            set _envkit_text = "$_ENVKIT_@SLOT@_GUARD_WAS:q $_envkit_text:q"
        endif
    endif
    if ("x$_ENVKIT_@SLOT@_GUARD:q" == x) then
        : # not one of ours
    else if ("x$UV_CONSTRAINT:q" == "x$_envkit_text:q") then
        if ($?_ENVKIT_@SLOT@_GUARD_WAS) then
            setenv UV_CONSTRAINT "$_ENVKIT_@SLOT@_GUARD_WAS:q"
        else
            unsetenv UV_CONSTRAINT
        endif
    else
        # One word per word, which begins with an x since two blanks may stand side by side; the one that goes
        # becomes `:-`.
        set _envkit_text = "x$UV_CONSTRAINT:as|	|//tab//|"
        set _envkit_text = "$_envkit_text:as| |//blank//|"
        set _envkit_text = "$_envkit_text:as|//blank//| x|"
        set _envkit_list = ($_envkit_text:x)
        set _envkit_at = 0
        foreach _envkit_entry ($_envkit_list:q)
            @ _envkit_at++
            if ("$_envkit_entry:q" == "x$_ENVKIT_@SLOT@_GUARD:q") then
                set _envkit_list[$_envkit_at] = ":-"
                set _envkit_text = "$_envkit_list:q"
                if ($_envkit_at > 1) set _envkit_text = "$_envkit_text:s| :-||"
                if ($_envkit_at == 1) set _envkit_text = "$_envkit_text:s|:- ||"
                if ("$_envkit_text:q" == ":-") set _envkit_text = ""
                set _envkit_text = "$_envkit_text:as| x|//blank//|"
                set _envkit_text = "$_envkit_text:s|x||"
                set _envkit_text = "$_envkit_text:as|//blank//| |"
                setenv UV_CONSTRAINT "$_envkit_text:as|//tab//|	|"
                if ("x$_envkit_text:q" == x && ! $?_ENVKIT_@SLOT@_GUARD_WAS) unsetenv UV_CONSTRAINT
                break
            endif
        end
    endif
endif
unsetenv _ENVKIT_@SLOT@_GUARD
unsetenv _ENVKIT_@SLOT@_GUARD_WAS
# PYTHONNOUSERSITE, where a hook has set it: the state of the user, unless he has changed it.
if ($?_ENVKIT_@SLOT@_SITE && $?PYTHONNOUSERSITE) then
    if ("x$PYTHONNOUSERSITE:q" == "x$_ENVKIT_@SLOT@_SITE:q") then
        if ($?_ENVKIT_@SLOT@_SITE_WAS) then
            setenv PYTHONNOUSERSITE "$_ENVKIT_@SLOT@_SITE_WAS:q"
        else
            unsetenv PYTHONNOUSERSITE
        endif
    endif
endif
unsetenv _ENVKIT_@SLOT@_SITE
unsetenv _ENVKIT_@SLOT@_SITE_WAS
# End of undo.

# Apply. This order: an interrupt between any two lines leaves a state that undo reads rightly. Without the file uv
# would refuse everything, so a folder that has gone is left alone. tcsh looks for the end of a branch that it skips by
# other rules of quoting, so no value stands in one.
set _envkit_file = @FILE@
set _envkit_guard = @ENTRY@
set _envkit_site = @USER_SITE_OFF@
if ("x$_envkit_file:q" != x && -f "$_envkit_file:q") then
    set _envkit_text = "$_envkit_guard:q"
    if ($?UV_CONSTRAINT) then
        setenv _ENVKIT_@SLOT@_GUARD_WAS "$UV_CONSTRAINT:q"
        if ("x$UV_CONSTRAINT:q" != x) set _envkit_text = "$UV_CONSTRAINT:q $_envkit_guard:q"
    endif
    setenv _ENVKIT_@SLOT@_GUARD "$_envkit_guard:q"
    setenv UV_CONSTRAINT "$_envkit_text:q"
endif

# In a conda prefix: packages in the site-packages of the user would hide those of the environment.
if ("x$_envkit_site" != x) then
    if ($?PYTHONNOUSERSITE) then
        setenv _ENVKIT_@SLOT@_SITE_WAS "$PYTHONNOUSERSITE:q"
    endif
    setenv _ENVKIT_@SLOT@_SITE 1
    setenv PYTHONNOUSERSITE 1
endif
unset _envkit_file _envkit_guard _envkit_site _envkit_text _envkit_list _envkit_at _envkit_entry
