# >>> envkit deactivate hooks >>>
# Put here by envkit: runs etc/conda/deactivate.d/*.csh of the active environment, in reverse order.
if ($?VIRTUAL_ENV) then
    if (-d "$VIRTUAL_ENV:q/etc/conda/deactivate.d") then
        # The files are listed with globbing on and an empty folder no error; they run under the options of the user.
        set _envkit_options = ($?noglob $?nonomatch)
        unset noglob
        set nonomatch
        set _envkit_hooks = ("$VIRTUAL_ENV:q"/etc/conda/deactivate.d/*.csh)
        # tcsh 6.24 finds nothing in a folder with a quoted letter beyond ASCII: then those of envkit alone
        if (! -e "$_envkit_hooks[1]:q") then
            set _envkit_hooks = ("$VIRTUAL_ENV:q"/etc/conda/deactivate.d/envkit-{cuda,guard}.csh)
        endif
        if ($_envkit_options[1]) set noglob
        if (! $_envkit_options[2]) unset nonomatch
        set _envkit_number = $#_envkit_hooks
        while ($_envkit_number > 0)
            if (-f "$_envkit_hooks[$_envkit_number]:q") source "$_envkit_hooks[$_envkit_number]:q"
            @ _envkit_number--
        end
        unset _envkit_hooks _envkit_number _envkit_options
    endif
endif
# <<< envkit deactivate hooks <<<
