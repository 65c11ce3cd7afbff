import { execFileSync, fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { createRegistry, listenChannelz } from "@wirescope/channelz";
import { observeGrpcJs } from "@wirescope/instrument";

const [role = "orders", ...args] = process.argv.slice(2);
const host = "127.0.0.1";
const stockPort = Number(process.env.STOCK_PORT ?? 50061);

const method = (path, responseStream = false) => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: Buffer.from,
  requestDeserialize: String,
  responseSerialize: Buffer.from,
  responseDeserialize: String,
});
const backend = { handle: method("/example.Backend/Handle") };
const orders = { follow: method("/example.Orders/Follow", true) };
const clientOf = (service, target, credentials = grpc.credentials.createInsecure(), options = {}) =>
  new (grpc.makeGenericClientConstructor(service, "Client"))(target, credentials, options);

async function serve(service, handlers, credentials = grpc.ServerCredentials.createInsecure(), port = 0) {
  const server = new grpc.Server();
  server.addService(service, handlers);
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
}

const roles = {
  /** The process that the alert is about. It starts the others, except `stock`. */
  async orders() {
    const registry = createRegistry();
    observeGrpcJs(registry);
    const listener = await listenChannelz(registry, { port: Number(process.env.PORT ?? 50051) });
    const folder = mkdtempSync(join(tmpdir(), "wirescope-outage-"));
    process.on("exit", () => rmSync(folder, { recursive: true }));

    const billingPort = await start("billing", folder);
    const certificate = readFileSync(join(folder, "billing.pem"));
    const billing = clientOf(backend, `localhost:${billingPort}`, grpc.credentials.createSsl(certificate));
    const call = (client) =>
      new Promise((done) => {
        client.handle("order", { deadline: Date.now() + 1000 }, done);
      });
    // One after the other, so that the objects have the same ids in each run.
    await call(billing);
    const stock = clientOf(backend, `${host}:${stockPort}`);
    await call(stock);
    setInterval(() => [billing, stock].forEach(call), 100);

    const line = "order 4711 changed\n".repeat(200);
    const port = await serve(orders, {
      follow(stream) {
        const write = () => {
          while (stream.write(line));
        };
        stream.on("drain", write);
        write();
      },
    });
    await start("dashboard", String(port));
    console.log(`Channelz ${listener.address}`);
  },

  /** A backend whose certificate expires in 6 days. */
  async billing(folder) {
    const [key, cert] = [join(folder, "billing-key.pem"), join(folder, "billing.pem")];
    const what = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "6"];
    const names = ["-subj", "/CN=billing", "-addext", "subjectAltName=DNS:localhost"];
    execFileSync("openssl", ["req", "-x509", ...what, ...names, "-keyout", key, "-out", cert], { stdio: "ignore" });
    const pair = { private_key: readFileSync(key), cert_chain: readFileSync(cert) };
    const credentials = grpc.ServerCredentials.createSsl(null, [pair]);
    process.send(await serve(backend, { handle: (_, done) => done(null, "charged") }, credentials));
  },

  /** A client that follows the orders, and hangs after the first: something blocks its event loop for half an hour. */
  async dashboard(port) {
    clientOf(orders, `${host}:${port}`)
      .follow("all")
      .once("data", () => process.send(true, block));
  },

  /** The backend that is down until you start it. */
  async stock() {
    await serve(backend, { handle: (_, done) => done(null, "reserved") }, undefined, stockPort);
    console.log(`stock is running on ${host}:${stockPort}`);
  },
};

function block() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_800_000);
}

/** Starts a role as a separate process, which ends with this one, and waits until it is ready. */
function start(name, argument) {
  const child = fork(fileURLToPath(import.meta.url), [name, argument]);
  // A process that hangs handles no other signal.
  process.on("exit", () => child.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", () => reject(new Error(`${name} ended`)));
  });
}

process.on("disconnect", () => process.exit());
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit());
await roles[role](...args);
