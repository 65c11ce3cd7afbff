// Before the tests of npm run mutation: each property is searched for a counterexample for a moment, again for each mutation.

import fc from "fast-check";

fc.configureGlobal({ interruptAfterTimeLimit: 200 });
