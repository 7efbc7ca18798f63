: envkit hooks; if ($?VIRTUAL_ENV == 0) setenv VIRTUAL_ENV /dev/null; if (-f "$VIRTUAL_ENV:q/.envkit/deactivate.csh") source "$VIRTUAL_ENV:q/.envkit/deactivate.csh"; : end of envkit hooks; 
