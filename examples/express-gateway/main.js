import { startGateway } from "@wirescope/gateway";
import express from "express";

const gateway = await startGateway({ configuration: import.meta.dirname, listen: false });

const app = express();
app.get("/", (_, response) => void response.send("The program itself.\n"));
app.all("/mcp", gateway.handler);
app.use(express.json());

const server = app.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () => {
  console.log(`Endpoint http://127.0.0.1:${server.address().port}/mcp`);
  console.log(`Token    ${gateway.token}`);
});

process.once("SIGTERM", async () => {
  await gateway.close();
  server.close();
});
