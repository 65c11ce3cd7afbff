import { testHostileEndpoints } from "./cli-hostile-endpoint.test.helper.js";

// A response of an endpoint has several megabytes.
testHostileEndpoints({ nameLength: 300_000, maxOutput: 2_000_000 });
