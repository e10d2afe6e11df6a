// The token leaves the address bar and the history at once; the cookie has it.
location.replace("/");
