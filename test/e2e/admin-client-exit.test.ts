import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { SignInResponseSchema } from "@wirescope/gateway/admin";
import { expect, onTestFinished, test } from "vitest";
import { startProcess, untilPrinted } from "./running-process.test.helper.js";

/** An enveloped message of a Connect stream: flags, length and payload. */
function envelope(flags: number, message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

test("a program that stops reading a sign-in when it is done exits, although the stream has not ended", async () => {
  const done = create(SignInResponseSchema, { event: { case: "done", value: { server: { name: "notes" } } } });
  const server = createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/connect+proto" });
    stream.write(envelope(0, toBinary(SignInResponseSchema, done)));
    stream.end(envelope(2, Buffer.from("{}")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const program = `
    import { createInterface } from "node:readline";
    import { openAdminConnection } from "@wirescope/gateway/internal";
    const { client, close } = openAdminConnection(${JSON.stringify(url)});
    for await (const { event } of client.signIn({ server: "notes" })) {
      console.log(event.case);
      await new Promise((resolve) => createInterface(process.stdin).once("close", resolve));
      break;
    }
    close();`;
  const run = startProcess(process.execPath, ["--input-type=module", "--eval", program]);
  await untilPrinted(run, /done/);
  run.process.stdin.end();
  expect(await run.ended).toBe(0);
});
