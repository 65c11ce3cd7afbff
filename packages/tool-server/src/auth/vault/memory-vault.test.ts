import { expect, test } from "vitest";
import { createMemoryVault } from "./memory-vault.js";
import { describeVaultContract } from "./vault-contract.test.helper.js";

describeVaultContract("the vault in memory", async () => ({ vault: createMemoryVault(), secrets: [] }));

test("[TS-D-STORE-1] a vault in memory warns that tokens are lost with the process, and says why it is in memory", () => {
  const because = "There is no keychain. Start one.";
  const { kind, summary, warning } = createMemoryVault({ because }).describe();
  expect(kind).toBe("memory");
  expect(summary).toContain("memory");
  expect(warning).toMatch(
    /^There is no keychain\. Start one\. .*when this process ends.*sign in to every server again\.$/,
  );
  expect(createMemoryVault().describe().warning).toMatch(/memory only.*Use a keychain/);
});
