export { formatAddress, matchPath, parseAddress } from "./address.js";
export { Link } from "./link.js";
export { address, hasNavigated, navigate, openPanel, setMoment, setQuery } from "./router.js";
export { tableQuery } from "./table-query.js";
export type { ViewProps } from "./view.js";
