import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const listen = fileURLToPath(new URL("../../dist/index.js", import.meta.url));

/** A job that listens and, once somebody is connected, has nothing more to do. */
function job(keepsProcessAlive: boolean): string {
  return `
    import { connect } from "node:http2";
    import { createRegistry, listenChannelz } from ${JSON.stringify(listen)};
    const listener = await listenChannelz(createRegistry(), { keepsProcessAlive: ${keepsProcessAlive} });
    const session = connect(listener.url);
    session.once("connect", () => {
      session.unref();
      console.log("connected");
    });
  `;
}

test("a process ends when its work is done, with a listener that does not keep it alive and a reader connected", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", job(false)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, "exit");
  expect([code, output]).toEqual([0, "connected\n"]);
});

test("a process lives on with a listener that keeps it alive", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", job(true)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const outcome = await Promise.race([
    once(child, "exit").then(() => "ended"),
    new Promise((resolve) => setTimeout(() => resolve("lives"), 300)),
  ]);
  child.kill("SIGKILL");
  expect(outcome).toBe("lives");
});
