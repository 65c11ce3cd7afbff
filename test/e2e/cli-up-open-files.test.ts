import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createUserFolder, program, runCommand } from "./command.test.helper.js";
import { startProcess, untilPrinted } from "./running-process.test.helper.js";
import { smallEntry } from "./small-servers.test.helper.js";

/** Opens a connection that sends the start of a request and no more; resolves when it is open or failed. */
function openHalf(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("POST /mcp HTTP/1.1\r\n", () => resolve(socket)));
    socket.on("error", () => resolve(socket));
    onTestFinished(() => void socket.destroy());
  });
}

test.skipIf(process.platform === "win32")(
  "[CZ-D-LISTEN-12] keeps serving with few open files during a flood of half-open connections, and says in the log and in status what is short",
  async () => {
    const user = createUserFolder();
    const file = user.configure({ small: smallEntry });
    const env = { PATH: process.env.PATH, HOME: user.home };
    const command = [program, "up", "--port", "0", "--json", "--trust", "--config", file];
    const gateway = startProcess("/bin/sh", ["-c", 'ulimit -n 256; exec "$@"', "sh", process.execPath, ...command], {
      env,
    });
    const { endpoint } = JSON.parse(await untilPrinted(gateway, /\n/));
    await Promise.all(Array.from({ length: 400 }, () => openHalf(Number(new URL(endpoint).port))));
    expect((await fetch(new URL("/healthz", endpoint))).status).toBe(200);
    const listed = await runCommand(["tools", "--endpoint", "--config", file], { env });
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^small +echo/m) });
    const { code, stdout } = await runCommand(["status", "--config", file], { env });
    const text = stdout.replaceAll(/\s+/g, " ");
    expect(code).toBe(0);
    expect(text).toContain("limit of 128 connections");
    expect(text).toContain("may open 256 files");
    const lines = gateway.stderr.split("\n").filter((line) => line.includes("128 connections"));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ kind: "refused", limit: "connections" });
  },
);
