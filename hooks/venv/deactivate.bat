@rem >>> envkit deactivate hooks >>>
@rem Put here by envkit: runs etc\conda\deactivate.d\*.bat of this environment (docs/activation.md).
@if defined VIRTUAL_ENV if exist "%VIRTUAL_ENV%\etc\conda\deactivate.d\" pushd "%VIRTUAL_ENV%\etc\conda\deactivate.d" && ((for %%V in (*.bat) do @call ".\%%V") & popd)
@rem <<< envkit deactivate hooks <<<
