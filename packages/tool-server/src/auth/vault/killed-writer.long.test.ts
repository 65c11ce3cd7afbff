import { test } from "vitest";
import { bundleVaultWorker, killWriters } from "./vault-processes.test.helper.js";

bundleVaultWorker();

test("[TS-OAUTH-5, TS-D-STORE-4] an entry whose writer is killed a hundred times is the old or the new one, never partial and never in plain text", () =>
  killWriters(100));
