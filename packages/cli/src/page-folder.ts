import { fileURLToPath } from "node:url";

/** The folder of the built page in this package. The relative path works from the sources, the compiled files and the bundle. */
export const pageFolder: string = fileURLToPath(new URL("../page/", import.meta.url));
