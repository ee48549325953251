// Loaded before a server of node: whatever port it asks for, it listens on loopback and on a port
// that is free, and writes down which.
const fs = require("fs");
const net = require("net");

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  const told = args.find((arg) => typeof arg === "function");
  this.once("listening", () => {
    const file = process.env.PORT_FILE;
    fs.writeFileSync(file + ".part", String(this.address().port));
    fs.renameSync(file + ".part", file);
  });
  return listen.call(this, { port: 0, host: "127.0.0.1" }, told);
};
