import { testHostileEndpoints } from "./cli-hostile-endpoint.test.helper.js";

testHostileEndpoints({ nameLength: 30_000, maxOutput: 500_000 });
