import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { type RequestOptions, request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { createUserFolder, runCommand, startGateway } from "./command.test.helper.js";
import {
  createSignInWorld,
  note,
  pollOptions,
  readNote,
  type SignInWorld,
  signIn,
} from "./gateway-sign-in.test.helper.js";
import { startProcess } from "./running-process.test.helper.js";
import { smallEntry } from "./small-servers.test.helper.js";

const hasNginx = spawnSync("nginx", ["-v"]).status === 0;
if (!hasNginx)
  console.warn("The gateway is not tested behind nginx: it is not installed (apt-get install nginx-light).");

/** Starts an nginx with this server; returns its port. */
async function startNginx(serverAt: (port: number) => string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-nginx-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder};`);
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
    events {}
    http {
      access_log off; ${paths.join(" ")}
      ${serverAt(port)}
    }`,
  );
  startProcess("nginx", ["-e", "stderr", "-c", file]);
  const accepts = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
  await expect.poll(accepts, pollOptions).toBe(true);
  return port;
}

/** Starts an nginx with these directives in addition to `proxy_pass`; returns its endpoint. */
async function startProxy({ gateway }: SignInWorld, directives: string): Promise<string> {
  const location = `location / { proxy_pass http://${gateway.address}; ${directives} }`;
  return `http://127.0.0.1:${await startNginx((port) => `server { listen 127.0.0.1:${port}; ${location} }`)}/mcp`;
}

describe.skipIf(!hasNginx).each([
  ["with the defaults before 1.29.7", "proxy_http_version 1.0;"],
  ["that adds X-Forwarded-For", "proxy_http_version 1.1; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"],
  ["that adds Forwarded", "proxy_http_version 1.1; proxy_set_header Forwarded for=$remote_addr;"],
  ["that adds Via", "proxy_http_version 1.1; proxy_set_header Via '1.1 nginx';"],
])("behind an nginx %s", (_, directives) => {
  test.each(["legacy", "modern"] as const)(
    "[TS-D-SIGNIN-8] offers no sign-in to a %s client, and lets clients of this machine sign in",
    async (mode) => {
      const world = await createSignInWorld(signIn, { linkTo: async () => "http://127.0.0.1:1/link" });
      const endpoint = await startProxy(world, directives);
      let asked = 0;
      const remote = await world.connect(mode, { capabilities: { elicitation: { url: {} } } }, endpoint);
      remote.setRequestHandler("elicitation/create", async () => {
        asked += 1;
        return { action: "accept" };
      });
      expect((await remote.listTools()).tools).toEqual([]);
      for (const name of ["notes__sign_in", "notes__read"]) {
        const failure = String(await remote.callTool({ name, arguments: {} }).catch((error: unknown) => error));
        expect(failure).toContain("wirescope login notes");
        expect(failure).not.toContain("/link");
      }
      expect([asked, world.opened]).toEqual([0, []]);
      expect(world.events.filter(({ kind }) => kind === "defect")).toEqual([
        { kind: "defect", reason: expect.stringContaining("came through a proxy") },
      ]);
      const local = await world.connect(mode);
      expect((await local.callTool(readNote)).content).toEqual(note);
      expect((await remote.callTool(readNote)).content).toEqual(note);
    },
  );
});

describe.skipIf(!hasNginx)("behind an nginx with deploy/nginx.conf", () => {
  const certificate = (name: string): string => fileURLToPath(new URL(`../certificates/${name}.pem`, import.meta.url));
  const ca = readFileSync(certificate("ca"));

  /** Resolves when the response headers are received. */
  const send = (
    port: number,
    path: string,
    init: RequestOptions & { readonly body?: object },
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { host: "tools.example.com", ...init.headers };
      const sent = request(
        { ...init, host: "localhost", servername: "localhost", port, path, ca, headers },
        resolve,
      ).on("error", reject);
      sent.end(init.body && JSON.stringify(init.body));
    });

  test("clients call tools over TLS, event streams are not held back, and nothing else is reachable", async () => {
    const user = createUserFolder();
    const env = { PATH: process.env.PATH, HOME: user.home };
    const options = ["--allow-host", "tools.example.com", "--trust", "--log", "off", "--port", "0"];
    const file = user.configure({ small: smallEntry });
    const { endpoint, token } = await startGateway(["--config", file, ...options], { env });
    const template = readFileSync(new URL("../../deploy/nginx.conf", import.meta.url), "utf8");
    const port = await startNginx((free) =>
      template
        .replace("listen 443", `listen 127.0.0.1:${free}`)
        .replace("/etc/wirescope/tls-cert.pem", certificate("server"))
        .replace("/etc/wirescope/tls-key.pem", certificate("server-key"))
        .replace("127.0.0.1:4690;", `${new URL(endpoint).host};`),
    );
    const at = `https://localhost:${port}/mcp`;
    const call = ["call", at, "small__get-sum", "a=20", "b=22", "--header", `Authorization: Bearer \${TOKEN}`];
    // The name of this certificate; nginx passes it on, and the gateway accepts it for this machine.
    const called = await runCommand([...call, "--ca", certificate("ca")], { env: { ...env, TOKEN: token } });
    expect(called, called.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("42") });

    const authorization = `Bearer ${token}`;
    const accept = "application/json, text/event-stream";
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    const body = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    const headers = { authorization, accept, "content-type": "application/json" };
    const begun = await send(port, "/mcp", { method: "POST", headers, body });
    expect(begun.statusCode).toBe(200);
    const session = { "mcp-session-id": String(begun.headers["mcp-session-id"]) };
    // It responds at once, although no event follows.
    const stream = await send(port, "/mcp", { headers: { ...headers, ...session } });
    expect([stream.statusCode, stream.headers["content-type"]]).toEqual([200, "text/event-stream"]);
    stream.destroy();
    const refused = await send(port, "/mcp", { headers: { ...headers, host: "other.example.com" } });
    expect(refused.statusCode).toBe(403);

    // Only the endpoint of clients is reachable.
    for (const path of ["/", "/metrics", "/wirescope.v1.AdminService/ListServers"])
      expect((await send(port, path, { headers })).statusCode, path).toBe(404);
  });
});
