// A gateway that reports which of its files ran: node traced-gateway.mjs <servers as JSON> [folder of a vault]
import { randomBytes } from "node:crypto";
import { Session } from "node:inspector/promises";
import { createConnectTransport } from "@connectrpc/connect-node";
import { createAdminClient } from "@wirescope/gateway/admin";
import { runGateway } from "@wirescope/gateway/internal/gateway";
import { createPageAccess } from "@wirescope/gateway/internal/page";
import { createSecretRegistry } from "@wirescope/tool-server";
import { keyFromVariable, openFileVault, type Vault } from "@wirescope/tool-server/auth";
import { createConfiguration } from "@wirescope/tool-server/config";

const [, , servers = "", directory] = process.argv;
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** The files with a function that ran since the last call, such as `gateway/src/gateway.ts`. */
async function takeFiles(): Promise<string[]> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result.flatMap(({ url, functions }) => {
    const [, name, path] = /\/packages\/([\w-]+)\/dist\/(.+)\.js$/.exec(url) ?? [];
    const hasRun = functions.some(({ ranges: [whole] }) => whole !== undefined && whole.count > 0);
    return name !== undefined && hasRun ? [`${name}/src/${path}.ts`] : [];
  });
}

/** The files that ran from the click until the tokens were stored. */
let signInFiles: string[] = [];

async function openTracedVault(folder: string): Promise<Vault> {
  const key = keyFromVariable("KEY", { KEY: randomBytes(32).toString("base64") });
  const vault = await openFileVault({ directory: folder, key });
  return {
    ...vault,
    async withLock(entry, task, options) {
      const result = await vault.withLock(entry, task, options);
      if (entry.item === "tokens") signInFiles = [...signInFiles, ...(await takeFiles())];
      return result;
    },
  };
}

const access = createPageAccess();
const vault = directory === undefined ? undefined : await openTracedVault(directory);
const gateway = await runGateway({
  secrets: createSecretRegistry(),
  configurations: [
    {
      configuration: createConfiguration(JSON.parse(servers)),
      variables: {},
      pluginRoot: process.cwd(),
      assertTrusted: async () => {},
      ...(vault && { oauth: { vault, allowInsecureLoopback: true } }),
    },
  ],
  ...(vault && { page: { access } }),
});
const url = gateway.url ?? "";

/** Signs in as the page does, after a click, and sends the URL that the browser is to open. */
async function signIn(server: string): Promise<string[]> {
  const ticket = new URL(access.linkTo(url)).searchParams.get("ticket") ?? "";
  const { cookie = "", key = "" } = access.redeem(ticket, undefined, false) ?? {};
  const admin = createAdminClient(
    createConnectTransport({
      baseUrl: url,
      httpVersion: "1.1",
      useBinaryFormat: true,
      interceptors: [
        (next) => (request) => {
          request.header.set("cookie", cookie);
          request.header.set("x-wirescope-csrf", key);
          return next(request);
        },
      ],
    }),
  );
  for await (const { servers: changed } of admin.watchServers({})) {
    if (changed.some(({ name, failure }) => name === server && failure?.code === "SIGN_IN_NEEDED")) break;
  }
  signInFiles = [];
  await takeFiles();
  for await (const { event } of admin.signIn({ server, returnPath: "/servers", withSteps: true })) {
    if (event.case === "prompt") process.send?.({ prompt: event.value.way.value?.url });
  }
  return signInFiles;
}

process.on("message", async (server: string) => {
  process.send?.({ files: await (server === "" ? takeFiles() : signIn(server)) });
});
process.on("disconnect", () => void gateway.close({ graceMs: 0 }).then(() => process.exit()));
process.send?.({ endpoint: `${url}/mcp`, token: gateway.token });
