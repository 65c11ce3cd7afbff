// A gateway in front of one server: node gateway-server.js <entry as JSON>
import { startGateway } from "@wirescope/gateway";
import { trustAll } from "@wirescope/tool-server";
import { createConfiguration } from "@wirescope/tool-server/config";
import { serveUntilLetGo } from "./serving-process.js";

const configuration = createConfiguration({ raw: JSON.parse(process.argv[2] ?? "{}") });
const gateway = await startGateway({ configuration, trust: trustAll() });
const port = Number(new URL(gateway.url ?? "").port);
serveUntilLetGo(
  { port, token: gateway.token } as { port: number },
  () => void gateway.close().then(() => process.exit()),
);
