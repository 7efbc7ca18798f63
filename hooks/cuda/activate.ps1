# Made by envkit: switches to this environment's CUDA toolkit. Rules and reasons: docs/activation.md in envkit's
# sources. For Windows PowerShell and PowerShell, on every system: starts no program, writes nothing to the output
# stream, and leaves nothing behind, since all of it runs in a scope of its own and touches only environment variables.

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
    $env:_ENVKIT_@SLOT@_BIN = $null
    $env:_ENVKIT_@SLOT@_OWN = $null
    $env:_ENVKIT_@SLOT@_IN = $null

    # Apply ("Activate"): the recorded folder, then where this release usually lies; a conda prefix that is its own
    # toolkit is that wherever it lies (on Windows in Library). The words become arguments, so no comma stands between.
    $toolkit = $null
    $inside = $null
    if (@INSIDE@ -ne '' -and '@SLOT@' -eq 'CONDA' -and $env:CONDA_PREFIX) {
        $inside = $env:CONDA_PREFIX
        if ($onWindows) { $inside = "$env:CONDA_PREFIX\Library" }
        $toolkit = $inside
    }
    else {
        $candidates = @(& { $args } @CANDIDATES@)
        if ($onWindows) { $candidates = @(& { $args } @WINDOWS_CANDIDATES@) }
        foreach ($candidate in $candidates) {
            if ([IO.Directory]::Exists("$candidate/bin")) {
                $toolkit = $candidate
                break
            }
        }
    }
    if (-not $toolkit) {
        $repair = '.'
        if ('@SLOT@' -eq 'CONDA') { $repair = '. Repair: envkit hooks install "$env:CONDA_PREFIX" --toolkit DIR' }
        if ('@SLOT@' -eq 'VENV') { $repair = '. Repair: envkit hooks install "$env:VIRTUAL_ENV" --toolkit DIR' }
        $text = 'envkit: there is no CUDA toolkit ' + @TOOLKIT@ + '; CUDA_HOME, CUDA_PATH and PATH stay yours' + $repair
        [Console]::Error.WriteLine($text)
    }
    else {
        # This order: an interrupt between any two lines leaves a state that undo reads rightly.
        $env:_ENVKIT_@SLOT@_HOME_WAS = $env:CUDA_HOME
        $env:_ENVKIT_@SLOT@_PATH_WAS = $env:CUDA_PATH
        $env:_ENVKIT_@SLOT@_TOOLKIT = $toolkit
        $env:CUDA_HOME = $toolkit
        $env:CUDA_PATH = $toolkit
        $entries = @()
        if ($env:PATH) { $entries = @($env:PATH -split $separator) }
        $ours = @("$toolkit/bin")
        if ($onWindows) { $ours = @("$toolkit\bin", "$toolkit\libnvvp") }

        # On Windows right behind the prefix's first entry: conda takes out of PATH all that stands between its first and
        # its last entry, ours with them, when it switches to other environments too. Already there: nothing to do.
        $places = @()
        if ($onWindows -and $prefix) { $places = @(& $find $entries @($prefix)) }
        if ($inside) {
            $places = @()
        }
        elseif ($places.Count -gt 0) {
            $first = $places[0]
            if (@(& $find $entries $ours) -notcontains ($first + 1)) {
                $env:PATH = @(
                    for ($at = 0; $at -lt $entries.Count; $at++) {
                        $entries[$at]
                        if ($at -eq $first) { $ours }
                    }
                ) -join $separator
            }
        }
        else {
            # OWN: the user's entries equal to ours; IN: conda's own entry. One `x` each, as in the .sh hooks.
            $env:_ENVKIT_@SLOT@_OWN = 'x' * @(& $find $entries $ours).Count
            if ($prefix -and -not $onWindows) {
                $env:_ENVKIT_@SLOT@_IN = 'x' * @(& $find $entries @("$prefix/bin")).Count
            }
        }

        # The library path is touched only where the spec asks for it, and never gets an empty element of our own.
        $library = $null
        if (@LIBRARY_PATH@ -ne '' -and -not $onWindows) {
            if ([IO.Directory]::Exists("$toolkit/lib")) { $library = "$toolkit/lib" }
            if ([IO.Directory]::Exists("$toolkit/lib64")) { $library = "$toolkit/lib64" }
        }
        if ($library) {
            if ($null -eq $env:LD_LIBRARY_PATH) { $env:_ENVKIT_@SLOT@_LIB_UNSET = 'x' }
            $before = @()
            if ($env:LD_LIBRARY_PATH) { $before = @($env:LD_LIBRARY_PATH -split $separator) }
            $env:_ENVKIT_@SLOT@_LIB_OWN = 'x' * @(& $find $before @($library)).Count
            $env:_ENVKIT_@SLOT@_LIB = $library
            $env:LD_LIBRARY_PATH = (@($library) + $before) -join $separator
        }

        # The newest gcc that this toolkit takes, where the system's own is newer; each variable that the user has not
        # set. One that only the other slot has set counts as unset.
        if (@HOST_CC@ -ne '' -and [IO.File]::Exists(@HOST_CC_FILE@) -and [IO.File]::Exists(@HOST_CXX_FILE@)) {
            if ($null -eq $env:CC -or $env:CC -ceq $env:_ENVKIT_@OTHER@_CC) {
                $env:_ENVKIT_@SLOT@_CC = @HOST_CC@
                $env:CC = @HOST_CC@
            }
            if ($null -eq $env:CXX -or $env:CXX -ceq $env:_ENVKIT_@OTHER@_CXX) {
                $env:_ENVKIT_@SLOT@_CXX = @HOST_CXX@
                $env:CXX = @HOST_CXX@
            }
            if ($null -eq $env:CUDAHOSTCXX -or $env:CUDAHOSTCXX -ceq $env:_ENVKIT_@OTHER@_CUDAHOSTCXX) {
                $env:_ENVKIT_@SLOT@_CUDAHOSTCXX = @HOST_CXX@
                $env:CUDAHOSTCXX = @HOST_CXX@
            }
        }

        if (-not $inside -and $places.Count -eq 0) {
            $env:_ENVKIT_@SLOT@_BIN = $ours -join $separator
            $env:PATH = ($ours + $entries) -join $separator
        }
    }
}
