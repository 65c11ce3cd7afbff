import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { resolveOrigin, type Variables } from "../../config/substitute-entry.js";
import { ToolServerError } from "../../errors.js";
import { failureOf } from "../../failure-of.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { AssertTrusted } from "./open-tool-server.js";
import { createToolServers, type ToolServers } from "./tool-servers.js";

let root: string;
const open: ToolServers[] = [];

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "wirescope-servers-")));
});

afterEach(async () => {
  for (const servers of open.splice(0)) await servers.close();
  rmSync(root, { recursive: true });
});

function create(
  entries: unknown,
  variables: Variables = {},
  assertTrusted: AssertTrusted = async () => {},
): ToolServers {
  const secrets = createSecretRegistry();
  const servers = createToolServers({
    configuration: parseConfiguration(JSON.stringify({ mcpServers: entries }), { secrets }),
    variables,
    pluginRoot: root,
    secrets,
    assertTrusted,
    settings: { info: { name: "test", version: "0" } },
  });
  open.push(servers);
  return servers;
}

const tenant = {
  crm: {
    type: "http",
    url: "https://${TENANT_ID}.example.com/mcp",
    headers: { Authorization: "Bearer ${CRM_TOKEN}", "X-Workspace-ID": "${WORKSPACE_ID}" },
  },
};
const acme = { TENANT_ID: "acme", WORKSPACE_ID: "w1", CRM_TOKEN: "token-of-acme-user" };

describe("tenants", () => {
  test("[TS-TENANT-2] [TS-D-TENANT-1] gives each tenant its own connection, credentials and channel", async () => {
    const servers = create(tenant, acme);
    const first = await servers.open("crm");
    const second = await servers.open("crm", { TENANT_ID: "umbrella", CRM_TOKEN: "token-of-umbrella-user" });
    expect(second).not.toBe(first);
    expect([first.info.target, second.info.target]).toEqual([
      "https://acme.example.com/mcp",
      "https://umbrella.example.com/mcp",
    ]);
    expect(second.info.tenant).toEqual({ TENANT_ID: "umbrella", WORKSPACE_ID: "w1" });
    expect(servers.connections).toEqual([first, second]);
  });

  test("[TS-D-TENANT-1] shares a connection within a tenant, and gives another user of it another one", async () => {
    const servers = create(tenant, acme);
    const first = await servers.open("crm");
    expect(await servers.open("crm", { TENANT_ID: "acme", UNUSED: "x" })).toBe(first);
    expect(await servers.open("crm", { CRM_TOKEN: "token-of-a-colleague" })).not.toBe(first);
  });

  test("[TS-D-TENANT-1] gives users whose inputs differ their own connections and tenants", async () => {
    const servers = create(
      { crm: { type: "http", url: "https://${input:tenant}.example.com/mcp", headers: { "X-Key": "${input:key}" } } },
      { INPUT_TENANT: "acme", INPUT_KEY: "key-of-acme-user" },
    );
    const first = await servers.open("crm");
    expect(await servers.open("crm")).toBe(first);
    expect(await servers.open("crm", { INPUT_KEY: "key-of-a-colleague" })).not.toBe(first);
    const second = await servers.open("crm", { INPUT_TENANT: "umbrella" });
    expect(second.info.target).toBe("https://umbrella.example.com/mcp");
    expect([first.info.tenant, second.info.tenant]).toEqual([
      { "input:tenant": "acme" },
      { "input:tenant": "umbrella" },
    ]);
  });

  describe("[TS-TENANT-1] [TS-D-TENANT-1] a header with a default selects the tenant that is sent", () => {
    const tenantFor = async (headers: Record<string, string>, variables: Variables) => {
      const servers = create({ notes: { type: "http", url: "https://notes.example.com/mcp", headers } }, variables);
      return (await servers.open("notes")).info.tenant;
    };

    test.each([
      ["unset", {}],
      ["empty", { WORKSPACE_ID: "" }],
      ["equal to the default", { WORKSPACE_ID: "main" }],
    ])("uses the default if the variable is %s", async (_, variables) => {
      expect(await tenantFor({ "X-Workspace-ID": "${WORKSPACE_ID:-main}" }, variables)).toEqual({
        WORKSPACE_ID: "main",
      });
    });

    test("a changed default is another tenant", async () => {
      expect(await tenantFor({ "X-Workspace-ID": "${WORKSPACE_ID:-other}" }, {})).toEqual({ WORKSPACE_ID: "other" });
      expect(await tenantFor({ "X-Workspace-ID": "${NOT_SECRET:-main}" }, { NOT_SECRET: "x" })).toEqual({
        NOT_SECRET: "main",
      });
    });

    test("two defaults of one variable are both a part of it", async () => {
      const headers = { "X-Workspace-ID": "${ID:-main}", "X-Tenant-ID": "${ID:-acme}" };
      expect(await tenantFor(headers, {})).toEqual({ ID: "main", "ID in headers.X-Tenant-ID": "acme" });
      expect(await tenantFor(headers, { ID: "both" })).toEqual({ ID: "both" });
    });

    test("an entry without a default keeps the key of its stored tokens: the variable and its value", async () => {
      expect(await tenantFor({ "X-Workspace-ID": "${WORKSPACE_ID}" }, { WORKSPACE_ID: "w1" })).toEqual({
        WORKSPACE_ID: "w1",
      });
      expect(await tenantFor({ "X-Workspace-ID": "a${WORKSPACE_ID}" }, { WORKSPACE_ID: "" })).toEqual({
        WORKSPACE_ID: "",
      });
      expect(await tenantFor({ "X-Workspace-ID": "${WORKSPACE_ID:-main}" }, { WORKSPACE_ID: "w1" })).toEqual({
        WORKSPACE_ID: "w1",
      });
    });
  });

  test("refuses a value that would change the structure of the url before anything is opened", async () => {
    const servers = create(tenant, acme);
    const error = await failureOf(servers.open("crm", { TENANT_ID: "evil.example.org/#" }));
    expect(error.code).toBe("VARIABLE_UNUSABLE");
    expect(servers.connections).toEqual([]);
  });
});

describe("opening", () => {
  test("[TS-D-TRUST-1] substitutes and runs nothing of an entry before it is trusted", async () => {
    const asked: string[] = [];
    const servers = create({ tool: { command: "node", args: ["${NOT_SET}"] } }, {}, async ({ name }) => {
      asked.push(name);
      throw new ToolServerError("NOT_TRUSTED", { problem: "It is not trusted.", advice: "" });
    });
    expect((await failureOf(servers.open("tool"))).code).toBe("NOT_TRUSTED");
    expect(asked).toEqual(["tool"]);
  });

  test("does not use an entry with errors, and lists them with their positions", async () => {
    const servers = create({ api: { type: "http", url: "http://api.example.com/mcp" } });
    const error = await failureOf(servers.open("api"));
    expect(error.code).toBe("ENTRY_INVALID");
    expect(error.message).toMatch(/^The server "api" cannot be used. 1:\d+: The url uses http/);
  });

  test("reports an entry that cannot be parsed in the same way, and not as a missing one", async () => {
    const error = await failureOf(create({ ...tenant, api: "node server.js" }, acme).open("api"));
    expect(error.code).toBe("ENTRY_INVALID");
    expect(error.message).toMatch(
      /^The server "api" cannot be used. 1:\d+: The entry must be an object, but is a string/,
    );
  });

  test("rejects an unknown name with a list of the known ones", async () => {
    const error = await failureOf(create(tenant, acme).open("crn"));
    expect([error.code, error.message]).toEqual([
      "SERVER_UNKNOWN",
      'The configuration has no server "crn". Did you mean "crm"? Servers: crm.',
    ]);
  });

  test("[TS-D-TRUST-10] asks for trust with the values of the opened tenant that decide the origin of the url", async () => {
    const asked: unknown[] = [];
    const servers = create(
      { api: { type: "http", url: "${API_URL}/mcp" } },
      { API_URL: "https://a.example" },
      async (entry, variables) => void asked.push(resolveOrigin(entry, variables)),
    );
    const targets = [await servers.open("api"), await servers.open("api", { API_URL: "https://b.example/v1/" })].map(
      ({ info }) => info.target,
    );
    expect(targets).toEqual(["https://a.example/mcp", "https://b.example/v1/mcp"]);
    expect(asked).toEqual([{ origin: "https://a.example" }, { origin: "https://b.example" }]);
  });

  test("[TS-D-TRUST-10] asks nobody to trust a url whose variable cannot be used", async () => {
    const servers = create({ api: { type: "http", url: "https://${API_HOST}/mcp" } }, {}, async () => {
      throw new Error("asked");
    });
    const error = await failureOf(servers.open("api"));
    expect([error.code, error.message]).toEqual([
      "VARIABLE_UNUSABLE",
      expect.stringContaining('Cannot use server "api". API_HOST is not set'),
    ]);
  });

  test("tries a server that could not be opened again the next time", async () => {
    let isTrusted = false;
    const servers = create(tenant, acme, async () => {
      if (!isTrusted) throw new ToolServerError("NOT_TRUSTED", { problem: "It is not trusted.", advice: "" });
    });
    await failureOf(servers.open("crm"));
    isTrusted = true;
    expect((await servers.open("crm")).state).toBe("IDLE");
  });

  test("opens nothing after it was closed", async () => {
    const servers = create(tenant, acme);
    const connection = await servers.open("crm");
    await servers.close();
    expect(connection.state).toBe("SHUTDOWN");
    expect((await failureOf(servers.open("crm"))).code).toBe("CONNECTION_CLOSED");
  });
});

test("shows no secret in the description of a connection", async () => {
  const servers = create(
    {
      api: { type: "http", url: "https://api.example.com/mcp?key=${API_KEY}", headers: { "X-API-Key": "${API_KEY}" } },
    },
    { API_KEY: "s3cr3t-value-of-the-key" },
  );
  const { info } = await servers.open("api");
  expect(JSON.stringify([info, info.credential()])).not.toContain("s3cr3t");
  expect(info.target).toContain("https://api.example.com/mcp?key=");
});
