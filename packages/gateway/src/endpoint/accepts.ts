/** Whether a client takes answers of a media type. Who says nothing takes all. */
export function accepts(header: string | undefined, type: "application/json" | "text/event-stream"): boolean {
  if (header === undefined || header === "*/*") return true;
  if (header.includes(type)) return true;
  const [family] = type.split("/");
  return header
    .toLowerCase()
    .split(",")
    .map((part) => part.split(";", 1)[0]?.trim())
    .some((range) => range === "*/*" || range === `${family}/*` || range === type);
}

/** Whether the body of a request is JSON by its content type. */
export function isJson(header: string | undefined): boolean {
  if (header === "application/json") return true;
  return header?.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
