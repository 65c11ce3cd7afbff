import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

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

test("lets the process end when its work is done, even with a connected reader, if the listener does not keep it alive", async () => {
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

test("keeps the process alive if the listener is set to", async () => {
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

test("[CZ-D-LISTEN-4] leaves no socket, timer or watched file after a listener that served HTTP/2 and HTTP/1.1 closes", async () => {
  const code = `
    import { once } from "node:events";
    import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
    import { get } from "node:http";
    import { connect } from "node:http2";
    import { tmpdir } from "node:os";
    import { join } from "node:path";
    import { createRegistry, listenChannelz } from ${JSON.stringify(listen)};
    const folder = mkdtempSync(join(tmpdir(), "wirescope-"));
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, "a-token-of-this-test");
    const resources = () => process.getActiveResourcesInfo().filter((kind) => !/PipeWrap|Immediate/.test(kind)).sort().join();
    const listener = await listenChannelz(createRegistry(), { tokenFile });
    const session = connect(listener.url);
    const headers = { ":method": "POST", "content-type": "application/grpc", authorization: "Bearer a-token-of-this-test" };
    const stream = session.request({ ...headers, ":path": "/rpc.channelz.v1.Channelz/GetServers" });
    stream.end(Buffer.alloc(5));
    const [trailers] = await once(stream.resume(), "trailers");
    const [response] = await once(get(listener.url, { agent: false }), "response");
    await once(response.resume(), "end");
    const during = resources();
    session.close();
    await listener.close();
    const deadline = Date.now() + 10_000;
    while (resources() !== "" && Date.now() < deadline) await new Promise(setImmediate);
    rmSync(folder, { recursive: true });
    console.log(JSON.stringify([trailers["grpc-status"], during.includes("TCPServerWrap"), resources()]));
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const [exitCode] = await once(child, "exit");
  expect([exitCode, output.trim()]).toEqual([0, JSON.stringify(["0", true, ""])]);
});
