# >>> envkit activate hooks >>>
# Put here by envkit: runs etc/conda/activate.d/*.csh of this environment, in order (docs/activation.md).
if ($?VIRTUAL_ENV) then
    if (-d "$VIRTUAL_ENV:q/etc/conda/activate.d") then
        # The files are listed with globbing on and an empty folder no error; they run under the options of the user.
        set _envkit_options = ($?noglob $?nonomatch)
        unset noglob
        set nonomatch
        set _envkit_hooks = ("$VIRTUAL_ENV:q"/etc/conda/activate.d/*.csh)
        # tcsh 6.24 finds nothing in a folder with a quoted letter beyond ASCII: then those of envkit alone
        if (! -e "$_envkit_hooks[1]:q") then
            set _envkit_hooks = ("$VIRTUAL_ENV:q"/etc/conda/activate.d/envkit-{cuda,guard}.csh)
        endif
        if ($_envkit_options[1]) set noglob
        if (! $_envkit_options[2]) unset nonomatch
        foreach _envkit_hook ($_envkit_hooks:q)
            if (-f "$_envkit_hook:q") source "$_envkit_hook:q"
        end
        unset _envkit_hooks _envkit_hook _envkit_options
    endif
endif
# <<< envkit activate hooks <<<
