"""What listens on a port: services, and the guard in front of everything that is served (extra ``web``)."""
