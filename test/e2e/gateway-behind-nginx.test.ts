import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import {
  createSignInWorld,
  note,
  pollOptions,
  readNote,
  type SignInWorld,
  signIn,
} from "./gateway-sign-in.test.helper.js";
import { startProcess } from "./running-process.test.helper.js";

const hasNginx = spawnSync("nginx", ["-v"]).status === 0;
if (!hasNginx)
  console.warn("The gateway is not tested behind nginx: it is not installed (apt-get install nginx-light).");

/** Starts an nginx with these directives in addition to `proxy_pass`; returns its endpoint. */
async function startNginx({ gateway }: SignInWorld, directives: string): Promise<string> {
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
      server { listen 127.0.0.1:${port}; location / { proxy_pass http://${gateway.address}; ${directives} } }
    }`,
  );
  startProcess("nginx", ["-e", "stderr", "-c", file]);
  const accepts = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
  await expect.poll(accepts, pollOptions).toBe(true);
  return `http://127.0.0.1:${port}/mcp`;
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
      const endpoint = await startNginx(world, directives);
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
