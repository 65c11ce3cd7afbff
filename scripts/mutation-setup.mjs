// Setup of the tests in npm run mutation: limits the time of each property test, because it runs again for each mutation.

import fc from "fast-check";

fc.configureGlobal({ interruptAfterTimeLimit: 200 });
