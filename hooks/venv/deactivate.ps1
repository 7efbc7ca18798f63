    # >>> envkit deactivate hooks >>>
    # Put here by envkit: runs etc/conda/deactivate.d/*.ps1 of the active environment, in reverse order.
    & {
        if ($env:VIRTUAL_ENV -and [IO.Directory]::Exists("$env:VIRTUAL_ENV/etc/conda/deactivate.d")) {
            $files = @([IO.Directory]::GetFiles("$env:VIRTUAL_ENV/etc/conda/deactivate.d") | Where-Object { $_ -like '*.ps1' })
            foreach ($file in @($files | Sort-Object -Descending)) { . $file }
        }
    }
    # <<< envkit deactivate hooks <<<
