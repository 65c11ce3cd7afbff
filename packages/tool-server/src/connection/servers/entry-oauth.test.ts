import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createTestHttpClient } from "../../auth/oauth/oauth-world.test.helper.js";
import { createMemoryVault } from "../../auth/vault/memory-vault.js";
import { steadyClock } from "../../clock.js";
import type { ConnectionInfo } from "../../connection-info.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { entryOAuthOptions } from "./entry-oauth.js";
import { readOAuthFile } from "./oauth-file.js";

test("[TS-D-OAUTH-7] sends the parameters of an entry with those of the user's file, which take precedence", () => {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-oauth-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "oauth.json");
  const own = { issuer: "https://login.example.com", prompt: "consent", authorizeParameters: { audience: "own" } };
  writeFileSync(file, JSON.stringify({ notes: own }));
  const secrets = createSecretRegistry();
  const options = entryOAuthOptions({
    settings: { vault: createMemoryVault(), overrides: readOAuthFile({ WIRESCOPE_OAUTH_FILE: file }) },
    info: { tenant: {} } as ConnectionInfo,
    server: "notes",
    url: "https://notes.example.com/mcp",
    oauth: {
      prompt: "login",
      scopes: ["read"],
      authorizeParameters: [
        ["audience", "of the entry"],
        ["login_hint", "ada"],
      ],
    },
    secretReader: () => undefined,
    http: createTestHttpClient(secrets),
    secrets,
    clock: steadyClock,
    report: () => {},
  });
  expect(options).toMatchObject({
    issuer: "https://login.example.com",
    scopes: ["read"],
    authorizeParameters: { audience: "own", login_hint: "ada", prompt: "consent" },
  });
});
