import { openToolServers } from "@wirescope/tool-server";

const servers = await openToolServers(import.meta.dirname);
try {
  for (const { name, state, reason = "" } of await servers.status()) {
    console.log(`${name}: ${state} ${reason}`.trim());
    if (state !== "IDLE") continue;
    const connection = await servers.open(name);
    const { tools } = await connection.listTools();
    console.log(`${name}: ${tools.length} tools`);
  }
} finally {
  await servers.close();
}
