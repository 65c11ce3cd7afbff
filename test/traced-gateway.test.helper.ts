// A gateway that reports which of its files ran: node traced-gateway.mjs <entry as JSON>
import { Session } from "node:inspector/promises";
import { startGateway } from "@wirescope/gateway";
import { trustAll } from "@wirescope/tool-server";
import { createConfiguration } from "@wirescope/tool-server/config";

const configuration = createConfiguration({ traced: JSON.parse(process.argv[2] ?? "") });
const gateway = await startGateway({ configuration, trust: trustAll() });
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

process.on("message", async () => process.send?.(await takeFiles()));
process.on("disconnect", () => void gateway.close({ graceMs: 0 }).then(() => process.exit()));
process.send?.({ endpoint: gateway.endpoint, token: gateway.token });
