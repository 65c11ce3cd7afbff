import { startGateway } from "@wirescope/gateway";

const port = Number(process.env.PORT ?? 4690);

const gateway = await startGateway({ configuration: import.meta.dirname, listen: { port } });
console.log(`Endpoint ${gateway.endpoint}`);
console.log(`Token    ${gateway.token}`);

process.once("SIGTERM", () => gateway.close());
process.once("SIGINT", () => gateway.close());
