# Made by envkit: gives back what activate.d/envkit-cuda.ps1 changed. Rules and reasons: docs/activation.md in
# envkit's sources. For Windows PowerShell and PowerShell, on every system: starts no program, writes nothing to the
# output stream, leaves nothing behind. Run without an activation before it, it changes nothing.

& {
    # Windows PowerShell has no $IsWindows. Nothing of the caller's strictness and preferences counts in here.
    Set-StrictMode -Off
    $ErrorActionPreference = 'Continue'
    $onWindows = (-not (Test-Path -LiteralPath 'Variable:\IsWindows')) -or $IsWindows
    $separator = ':'
    if ($onWindows) { $separator = ';' }
    $prefix = $null
    if ('@SLOT@' -eq 'CONDA') { $prefix = $env:CONDA_PREFIX }
    if ($onWindows -and '@SLOT@' -eq 'VENV' -and $env:VIRTUAL_ENV) { $prefix = "$env:VIRTUAL_ENV\Scripts" }

    # The places in $list at which the entries $part stand, one behind the other.
    $find = {
        param($list, $part)
        $text = $part -join $separator
        for ($at = 0; $at -le $list.Count - $part.Count; $at++) {
            $there = $list[$at..($at + $part.Count - 1)] -join $separator
            if ($there -ceq $text -or ($onWindows -and $there -ieq $text)) { $at }
        }
    }

    # Undo (docs/activation.md, "Undo"; the same text stands in activate.ps1 and deactivate.ps1): a variable that still
    # holds our toolkit gets the user's state back; one that the user changed meanwhile stays. Setting a variable to
    # $null, which is what an absent one reads as, unsets it.
    if ($null -ne $env:_ENVKIT_@SLOT@_TOOLKIT) {
        if ($env:CUDA_HOME -ceq $env:_ENVKIT_@SLOT@_TOOLKIT) { $env:CUDA_HOME = $env:_ENVKIT_@SLOT@_HOME_WAS }
        if ($env:CUDA_PATH -ceq $env:_ENVKIT_@SLOT@_TOOLKIT) { $env:CUDA_PATH = $env:_ENVKIT_@SLOT@_PATH_WAS }
    }
    # On Windows our two entries stand right behind the prefix's first one.
    if ($onWindows -and $prefix -and $env:PATH -and $null -ne $env:_ENVKIT_@SLOT@_TOOLKIT) {
        $entries = @($env:PATH -split $separator)
        $ours = @("$env:_ENVKIT_@SLOT@_TOOLKIT\bin", "$env:_ENVKIT_@SLOT@_TOOLKIT\libnvvp")
        $places = @(& $find $entries @($prefix))
        if ($places.Count -gt 0 -and @(& $find $entries $ours) -contains ($places[0] + 1)) {
            $first = $places[0] + 1
            $env:PATH = @(
                for ($at = 0; $at -lt $entries.Count; $at++) {
                    if ($at -lt $first -or $at -ge $first + $ours.Count) { $entries[$at] }
                }
            ) -join $separator
        }
    }
    $env:_ENVKIT_@SLOT@_TOOLKIT = $null
    $env:_ENVKIT_@SLOT@_HOME_WAS = $null
    $env:_ENVKIT_@SLOT@_PATH_WAS = $null
    # Elsewhere they stand in front, and BIN outlives TOOLKIT when conda is switching: PATH may hold a stale entry then.
    # Only the first entry equal to BIN goes, and only if there are more of them than the user had.
    if ($null -ne $env:_ENVKIT_@SLOT@_BIN -and $env:PATH) {
        $entries = @($env:PATH -split $separator)
        $ours = @($env:_ENVKIT_@SLOT@_BIN -split $separator)
        $places = @(& $find $entries $ours)
        if ($places.Count -gt "$env:_ENVKIT_@SLOT@_OWN".Length) {
            $first = $places[0]
            $env:PATH = @(
                for ($at = 0; $at -lt $entries.Count; $at++) {
                    if ($at -lt $first -or $at -ge $first + $ours.Count) { $entries[$at] }
                }
            ) -join $separator
        }
    }
    # LD_LIBRARY_PATH, where a hook has added to it: the same, and it is unset again if it was unset and nothing else is
    # left.
    if ($null -ne $env:_ENVKIT_@SLOT@_LIB -and $env:LD_LIBRARY_PATH) {
        $entries = @($env:LD_LIBRARY_PATH -split $separator)
        $places = @(& $find $entries @($env:_ENVKIT_@SLOT@_LIB))
        if ($places.Count -gt "$env:_ENVKIT_@SLOT@_LIB_OWN".Length) {
            $first = $places[0]
            $kept = @(for ($at = 0; $at -lt $entries.Count; $at++) { if ($at -ne $first) { $entries[$at] } })
            $env:LD_LIBRARY_PATH = $kept -join $separator
            if ($kept.Count -eq 0 -and $null -ne $env:_ENVKIT_@SLOT@_LIB_UNSET) { $env:LD_LIBRARY_PATH = $null }
        }
    }
    $env:_ENVKIT_@SLOT@_LIB = $null
    $env:_ENVKIT_@SLOT@_LIB_OWN = $null
    $env:_ENVKIT_@SLOT@_LIB_UNSET = $null
    # CC, CXX and CUDAHOSTCXX, where a hook has set them: one that still holds our word is unset, or goes back to that of
    # the other slot (a virtual environment inside a conda environment); one that the user changed meanwhile stays.
    if ($env:_ENVKIT_@SLOT@_CC -and $env:CC -ceq $env:_ENVKIT_@SLOT@_CC) { $env:CC = $env:_ENVKIT_@OTHER@_CC }
    if ($env:_ENVKIT_@SLOT@_CXX -and $env:CXX -ceq $env:_ENVKIT_@SLOT@_CXX) { $env:CXX = $env:_ENVKIT_@OTHER@_CXX }
    if ($env:_ENVKIT_@SLOT@_CUDAHOSTCXX -and $env:CUDAHOSTCXX -ceq $env:_ENVKIT_@SLOT@_CUDAHOSTCXX) {
        $env:CUDAHOSTCXX = $env:_ENVKIT_@OTHER@_CUDAHOSTCXX
    }
    $env:_ENVKIT_@SLOT@_CC = $null
    $env:_ENVKIT_@SLOT@_CXX = $null
    $env:_ENVKIT_@SLOT@_CUDAHOSTCXX = $null
    # End of undo.

    # Is a switch under way ("Deactivate")? conda then exports a PATH that it computed before this hook ran, so that our
    # entry returns, and the next activation needs BIN, OWN and IN to remove it (conda/conda#14762). A real deactivation
    # has taken one entry PREFIX/bin out of PATH already; without conda (run alone, a virtual environment) nothing comes
    # back. On Windows conda takes ours out itself.
    $isSwitch = $false
    if (-not $onWindows -and $prefix -and $env:_ENVKIT_@SLOT@_BIN -and $env:CONDA_SHLVL -and $env:CONDA_SHLVL -ne '0') {
        $places = @(& $find @("$env:PATH" -split $separator) @("$prefix/bin"))
        $isSwitch = $places.Count -ge "$env:_ENVKIT_@SLOT@_IN".Length
    }
    if (-not $isSwitch) {
        $env:_ENVKIT_@SLOT@_BIN = $null
        $env:_ENVKIT_@SLOT@_OWN = $null
        $env:_ENVKIT_@SLOT@_IN = $null
    }
}
