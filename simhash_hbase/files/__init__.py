"""Files on this machine, and files of object stores and web servers; their errors name the file."""
