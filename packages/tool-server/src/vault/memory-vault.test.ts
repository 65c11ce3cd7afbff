import { expect, test } from "vitest";
import { createMemoryVault } from "./memory-vault.js";
import { describeVaultContract } from "./vault-contract.test.helper.js";

describeVaultContract("the vault in memory", async () => ({ vault: createMemoryVault(), secrets: [] }));

test("[TS-D-STORE-1] a vault in memory warns that tokens end with the process, and says why it is in memory", () => {
  const { kind, summary, warning } = createMemoryVault({ because: "There is no keychain." }).describe();
  expect(kind).toBe("memory");
  expect(summary).toContain("memory");
  expect(warning).toMatch(/^There is no keychain\. .*when this process ends.*signed in to again.*Use a keychain/);
  expect(createMemoryVault().describe().warning).toContain("memory only");
});
