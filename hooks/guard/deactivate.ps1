# Made by envkit: gives back what activate.d/envkit-guard.ps1 changed. Rules and reasons: docs/activation.md in
# envkit's sources. For Windows PowerShell and PowerShell, on every system: starts no program, writes nothing, leaves
# nothing behind. Run without an activation before it, it changes nothing.

& {
    # Nothing of the caller's strictness and preferences counts in here.
    Set-StrictMode -Off
    $ErrorActionPreference = 'Continue'

    # Undo (docs/activation.md, "The guard"; the same text stands in activate.ps1 and deactivate.ps1): while UV_CONSTRAINT
    # is what a hook made of it, the user's state comes back. A value that the user changed meanwhile stays, without our
    # entry: the first word equal to it goes. Setting a variable to $null, which is what an absent one reads as, unsets it.
    if ($env:_ENVKIT_@SLOT@_GUARD -and $null -ne $env:UV_CONSTRAINT) {
        $made = $env:_ENVKIT_@SLOT@_GUARD
        if ($env:_ENVKIT_@SLOT@_GUARD_WAS) { $made = "$env:_ENVKIT_@SLOT@_GUARD_WAS $made" }
        if ($env:UV_CONSTRAINT -ceq $made) {
            $env:UV_CONSTRAINT = $env:_ENVKIT_@SLOT@_GUARD_WAS
        }
        else {
            $words = @($env:UV_CONSTRAINT -split ' ')
            $first = -1
            for ($at = $words.Count - 1; $at -ge 0; $at--) {
                if ($words[$at] -ceq $env:_ENVKIT_@SLOT@_GUARD) { $first = $at }
            }
            if ($first -ge 0) {
                $kept = @(for ($at = 0; $at -lt $words.Count; $at++) { if ($at -ne $first) { $words[$at] } })
                $env:UV_CONSTRAINT = $kept -join ' '
                if ("$kept" -eq '' -and $null -eq $env:_ENVKIT_@SLOT@_GUARD_WAS) { $env:UV_CONSTRAINT = $null }
            }
        }
    }
    $env:_ENVKIT_@SLOT@_GUARD = $null
    $env:_ENVKIT_@SLOT@_GUARD_WAS = $null
    # PYTHONNOUSERSITE, where a hook has set it: the user's state, unless he has changed it.
    if ($env:_ENVKIT_@SLOT@_SITE -and $env:PYTHONNOUSERSITE -ceq $env:_ENVKIT_@SLOT@_SITE) {
        $env:PYTHONNOUSERSITE = $env:_ENVKIT_@SLOT@_SITE_WAS
    }
    $env:_ENVKIT_@SLOT@_SITE = $null
    $env:_ENVKIT_@SLOT@_SITE_WAS = $null
    # End of undo.
}
