import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectToolServer, ToolServerError, trustAll } from "@wirescope/tool-server";
import { createConfiguration } from "@wirescope/tool-server/config";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { connectAdmin } from "./admin/connect-admin.js";
import { pollOptions } from "./gateway.test.helper.js";
import { type StartedGateway, type StartGatewayOptions, startGateway } from "./start-gateway.js";
import { small } from "./tool-servers.test.helper.js";

let root: string;
let environment: Record<string, string | undefined>;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "start-gateway-")));
  environment = {
    ...process.env,
    HOME: root,
    XDG_CONFIG_HOME: join(root, "config"),
    XDG_DATA_HOME: join(root, "data"),
  };
});

afterEach(() => rmSync(root, { recursive: true }));

function write(mcpServers: object): string {
  const file = join(root, ".mcp.json");
  writeFileSync(file, JSON.stringify({ mcpServers }));
  return file;
}

async function start(options: StartGatewayOptions): Promise<StartedGateway> {
  const gateway = await startGateway({ environment, ...options });
  onTestFinished(() => gateway.close({ graceMs: 0 }));
  return gateway;
}

const connectTo = ({ endpoint = "", token = "" }: StartedGateway): ReturnType<typeof connectToolServer> =>
  connectToolServer({ url: endpoint, headers: { Authorization: `Bearer ${token}` } });

const stateOf = (gateway: StartedGateway, name: string): unknown =>
  gateway.servers().find((each) => each.name === name)?.state;

test("offers the servers of a configuration file at one endpoint, behind a token", async () => {
  const gateway = await start({ configuration: write({ small }), trust: trustAll({ environment }) });
  await expect.poll(() => stateOf(gateway, "small"), pollOptions).toBe("READY");
  await using client = await connectTo(gateway);
  const result = await client.callTool({ name: "small__echo", arguments: { message: "hi" } });
  expect(result.content).toEqual([{ type: "text", text: "Echo: hi" }]);
  const error = await connectToolServer({ url: gateway.endpoint ?? "" }).catch((reason: unknown) => reason);
  expect(ToolServerError.is(error, "UNAUTHORIZED")).toBe(true);
});

test("neither runs nor offers a server that nobody approved, and says in its status how to approve it", async () => {
  const file = write({ small });
  const gateway = await start({ configuration: file });
  await expect.poll(() => gateway.servers()[0]?.failure?.code, pollOptions).toBe("NOT_TRUSTED");
  expect(gateway.servers()[0]?.failure?.message).toContain(`wirescope trust small --config ${file}`);
  await using client = await connectTo(gateway);
  expect((await client.listTools()).tools).toEqual([]);
});

test("accepts several configurations that the program created", async () => {
  const gateway = await start({
    configuration: [createConfiguration({ first: small }), createConfiguration({ second: small })],
    trust: trustAll({ environment }),
    listen: { host: "127.0.0.1" },
  });
  await expect.poll(() => gateway.servers().map(({ state }) => state), pollOptions).toEqual(["READY", "READY"]);
});

test("reads the file again at reload, and reports its problems in findings", async () => {
  const file = write({ small });
  const gateway = await start({ configuration: file, trust: trustAll({ environment }) });
  expect(gateway.findings).toEqual([]);
  write({ small, api: { type: "http", url: "http://api.example.com/mcp" } });
  await gateway.reload();
  expect(gateway.servers().map(({ name }) => name)).toEqual(["small", "api"]);
  expect(gateway.findings.map(({ code, server: name }) => `${name} ${code}`)).toEqual(["api url-insecure"]);
});

test("[TS-D-ADMIN-11] reports in the administration service why a reload failed, until one succeeds", async () => {
  const file = write({});
  const gateway = await start({ configuration: file });
  const admin = connectAdmin(gateway.url ?? "", gateway);
  rmSync(file);
  await expect(gateway.reload()).rejects.toThrow(file);
  expect((await admin.listServers({})).reloadFailure?.message).toContain(file);
  write({});
  await gateway.reload();
  expect((await admin.listServers({})).reloadFailure).toBeUndefined();
});

test("fails with the path of a configuration that cannot be read, and listens nowhere", async () => {
  const file = join(root, "missing.json");
  const error = await startGateway({ environment, configuration: file }).catch((reason: unknown) => reason);
  expect(ToolServerError.is(error, "CONFIGURATION_UNREADABLE") && error.message).toContain(file);
});

test("stops the endpoint when the gateway is disposed of", async () => {
  const gateway = await startGateway({
    environment,
    configuration: write({ small }),
    trust: trustAll({ environment }),
  });
  await expect.poll(() => stateOf(gateway, "small"), pollOptions).toBe("READY");
  await gateway[Symbol.asyncDispose]();
  await expect(fetch(gateway.endpoint ?? "")).rejects.toThrow();
});
