// Before the tests of npm run mutation: a property is searched for a counterexample for a moment, for each change anew.

import fc from "fast-check";

fc.configureGlobal({ interruptAfterTimeLimit: 200 });
