import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Credential } from "../../auth/credentials/credential.js";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { resolveEntry } from "../../config/substitute-entry.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createEntryCredential } from "./entry-credential.js";

const variables = {
  PATH: process.env.PATH,
  API_TOKEN: "tok-51aGbq8",
  TENANT_ID: "acme",
  OTHER_TOKEN: "other-secret-1",
  SHARED_TOKEN: "shared-secret-1",
  DB_PASSWORD: "correct-horse",
};

function credentialOf(
  name: string,
  servers: object,
  pluginRoot = "/plugin",
  beforeRun?: () => Promise<void>,
): Credential {
  const { entries } = parseConfiguration(JSON.stringify({ mcpServers: servers }));
  const secrets = createSecretRegistry();
  const entry = entries.find((candidate) => candidate.name === name);
  if (entry === undefined) throw new Error(`No entry ${name}`);
  const resolved = resolveEntry(entry, { variables, pluginRoot, secrets });
  return createEntryCredential({ entry, resolved, entries, variables, pluginRoot, secrets, beforeRun });
}

const url = "https://notes.example/mcp";

test("creates no credential for an entry that has only a type and a url", () => {
  expect(credentialOf("a", { a: { type: "http", url } }).kind).toBe("none");
});

test("[TS-TENANT-1] sends the headers of an entry, and knows the variables of each", async () => {
  const headers = { Authorization: "Bearer ${API_TOKEN}", "X-Tenant-ID": "${TENANT_ID}" };
  const credential = credentialOf("a", { a: { type: "http", url, headers } });
  expect({ ...(await credential.headers()) }).toEqual({ Authorization: "Bearer tok-51aGbq8", "X-Tenant-ID": "acme" });
  expect(credential.describe().headers.map((header) => header.variables)).toEqual([["API_TOKEN"], ["TENANT_ID"]]);
});

test("[TS-STDIO-1] passes env of a stdio entry to the environment of its process", () => {
  const credential = credentialOf("a", { a: { command: "server", env: { DB_PASSWORD: "${DB_PASSWORD}" } } });
  expect(credential.environment()).toEqual({ DB_PASSWORD: "correct-horse" });
  expect(credential.kind).toBe("environment");
});

test("[TS-D-DIALECT-5] does not use an envFile that changes while its approval is checked, unless the change is approved", async () => {
  const { path } = await createScriptFolder();
  const write = (value: string): Promise<void> =>
    writeFile(join(path, "own.env"), `LEVEL=${value}\nPLAIN=of the file\n`);
  await write("approved");
  let approved = "approved";
  const credential = credentialOf(
    "a",
    { a: { command: "server", envFile: "own.env", env: { PLAIN: "own" } } },
    path,
    async () => {
      const content = await readFile(join(path, "own.env"), "utf8");
      await write("changed");
      if (!content.includes(`LEVEL=${approved}`)) throw new Error("It is not approved.");
    },
  );
  const { signal } = new AbortController();
  await expect(credential.prepareEnvironment?.(signal)).rejects.toThrow("It is not approved.");
  approved = "changed";
  expect(await credential.prepareEnvironment?.(signal)).toEqual({ LEVEL: "changed", PLAIN: "own" });
});

test("[TS-D-HELPER-2] gives a helper the secrets that its own entry uses, and none that only others use", async () => {
  const folder = await createScriptFolder();
  await folder.sh('echo "{\\"X-Seen\\": \\"${OTHER_TOKEN-none} ${SHARED_TOKEN-none}\\"}"', "helper.sh");
  const credential = credentialOf(
    "a",
    {
      a: {
        type: "http",
        url,
        headers: { "X-API-Key": "${SHARED_TOKEN}" },
        headersHelper: "${HOST_PLUGIN_ROOT}/helper.sh",
      },
      b: { type: "http", url, headers: { Authorization: "Bearer ${OTHER_TOKEN}", "X-API-Key": "${SHARED_TOKEN}" } },
    },
    folder.path,
  );
  expect((await credential.headers())["X-Seen"]).toBe("none shared-secret-1");
});

test("[TS-D-HELPER-9] runs a helper with the time limit and the header lifetime that the entry sets", async () => {
  const folder = await createScriptFolder();
  await folder.sh('echo \'{"X-Key": "key-1"}\'', "helper.sh");
  await folder.sh("sleep 30", "hangs.sh");
  const helper = { type: "http", url, headersHelper: "helper.sh", headersHelperTtl: 7_200_000 };
  const credential = credentialOf("a", { a: helper }, folder.path);
  await credential.headers();
  const { obtainedAt = 0, expiresAt = 0 } = credential.describe().helper ?? {};
  expect(expiresAt - obtainedAt).toBe(7_200_000);
  const hanging = { ...helper, headersHelper: "hangs.sh", headersHelperTimeout: 50 };
  await expect(credentialOf("a", { a: hanging }, folder.path).headers()).rejects.toMatchObject({
    code: "HELPER_TIMEOUT",
  });
});
